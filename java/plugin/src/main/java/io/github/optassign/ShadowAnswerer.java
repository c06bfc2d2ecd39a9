package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.shadow.ShadowAssignor;
import java.io.IOException;

/** The answer of the group's assignor in shadow mode, where the service only records. */
record ShadowAnswerer(RebalanceInput input, ShadowAssignor shadow) {

    /**
     * Returns the assignor's answer, checked.
     *
     * @throws ServiceFailure if the assignor fails or its answer is invalid
     */
    AcceptedAnswer answer() throws IOException, ServiceFailure {
        try {
            ShadowAssignor.Decision decision =
                    shadow.assign(input.state(), input.group(), input.sent().partitions());
            CheckedAnswer checked = AnswerCheck.check(input.snapshot(), decision.answer());
            AppliedAnswer toRemember = input.createRecord(decision.answer(), false, -1);
            return decision.own() == null
                    ? new AcceptedAnswer(checked, null, toRemember, input.convert(checked), false)
                    : new AcceptedAnswer(checked, null, toRemember, input.checkWithKafka(decision.own()), true);
        } catch (ServiceFailure e) {
            throw new ServiceFailure(shadow.name() + ": " + e.getMessage());
        } catch (LinkageError | RuntimeException e) {
            throw new ServiceFailure(shadow.name() + ": " + e);
        }
    }
}

package io.github.optassign;

import io.github.optassign.learn.AppliedAnswer;
import io.github.optassign.learn.Breaker;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.Placement;
import io.github.optassign.service.AnswerCheck;
import io.github.optassign.service.AnswerReader;
import io.github.optassign.service.AnswerSize;
import io.github.optassign.service.LateAnswer;
import io.github.optassign.service.MemoryRefused;
import io.github.optassign.service.RuleCheck;
import io.github.optassign.service.ServiceClient;
import io.github.optassign.service.ServiceFailure;
import io.github.optassign.service.WrongAnswer;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * The service's answer to a rebalance, requested and checked.
 *
 * @param id the id of the rebalance in the service's log
 */
record ServiceAnswerer(RebalanceInput input, String id) {

    /**
     * Returns the service's answer. Does not ask while the breaker pauses after wrong or late answers.
     *
     * @throws ServiceFailure if there is no valid answer
     */
    AcceptedAnswer answer() throws IOException, ServiceFailure {
        Breaker breaker = input.memory().breaker();
        long pauseMs = breaker.pauseMs(System.nanoTime());
        long deadline = input.deadline();
        input.sent().findRacks(deadline);
        if (pauseMs > 0) {
            throw new ServiceFailure("not asked, but again in " + (pauseMs + 999) / 1000 + " s: " + breaker.describe());
        }
        long timeoutNanos = TimeUnit.MILLISECONDS.toNanos(input.config().timeoutMs());
        boolean hasTime = deadline - System.nanoTime() > timeoutNanos / 2;
        try {
            AcceptedAnswer decision = ask(deadline);
            breaker.noteRight();
            return decision;
        } catch (WrongAnswer e) {
            breaker.noteWrong(e.getMessage(), System.nanoTime());
            throw e;
        } catch (LateAnswer e) {
            if (hasTime) { // otherwise the broker used up the time for racks
                breaker.noteLate(e.getMessage(), System.nanoTime());
            }
            throw e;
        }
    }

    private AcceptedAnswer ask(long deadline) throws IOException, ServiceFailure {
        SentSnapshot sent = input.sent();
        ServiceClient service = new ServiceClient(input.config());
        int limit = AnswerSize.limitBytes(input.snapshot());
        long start = System.nanoTime();
        ServiceClient.Reply reply;
        try {
            reply = service.ask(id, sent.body(), limit, sent.rememberedAt(), deadline);
        } catch (MemoryRefused e) {
            // A clock was wrong when the last answer was dated. Sent again, that date would be refused every time.
            input.memory().forget();
            sent.forget();
            input.log().warn("the last answer is forgotten, since the service refuses its date: " + e.getMessage());
            reply = service.ask(id, sent.body(), limit, sent.rememberedAt(), deadline);
        }
        input.log().noteRoundTrip(start);
        Answer answer = AnswerReader.read(reply.json(), input.snapshot());
        CheckedAnswer checked = AnswerCheck.check(input.snapshot(), answer);
        Placement plan = RuleCheck.check(input.snapshot(), answer, checked);
        AppliedAnswer toRemember = AppliedAnswer.of(reply.json(), reply.answeredAt(), answer, input.snapshot());
        return new AcceptedAnswer(checked, plan, toRemember, input.convert(checked), false);
    }
}

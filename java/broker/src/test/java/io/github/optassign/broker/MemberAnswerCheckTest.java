package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.github.optassign.broker.dealing.MemberAnswer;
import io.github.optassign.broker.dealing.MemberAnswerCheck;
import io.github.optassign.broker.group.BrokerGroup;
import org.junit.jupiter.api.Test;

/** Each fault is found and described. */
class MemberAnswerCheckTest {
    private final BrokerGroup group = read();

    private static BrokerGroup read() {
        BrokerTestGroup group = new BrokerTestGroup(1).logged("0", 2).stateless("1", 1);
        group.process("a", 2).process("b", 1);
        return new BrokerGroup(group.toSpec(), group);
    }

    /** Returns an answer with 0_0 and 1_0 on a's first thread, 0_1 on its second, and a standby of 0_0 in b. */
    private static MemberAnswer newValidAnswer() {
        MemberAnswer answer = new MemberAnswer(3);
        answer.addActive(0, 0);
        answer.addActive(1, 1);
        answer.addActive(0, 2);
        answer.addStandby(2, 0);
        return answer;
    }

    @Test
    void aValidAnswerHasNoFault() {
        assertNull(MemberAnswerCheck.findFault(group, newValidAnswer()));
    }

    @Test
    void aTaskMustBeActiveOnce() {
        MemberAnswer answer = newValidAnswer();
        answer.active(1).clear();
        assertEquals("found task 0_1 active nowhere; allowed: once", MemberAnswerCheck.findFault(group, answer));
        answer.addActive(1, 1);
        answer.addActive(2, 1);
        assertEquals("found task 0_1 active twice; allowed: once", MemberAnswerCheck.findFault(group, answer));
    }

    @Test
    void aProcessMustHaveOneCopy() {
        MemberAnswer answer = newValidAnswer();
        answer.addStandby(1, 0);
        assertEquals("found task 0_0 twice in process a; allowed: once", MemberAnswerCheck.findFault(group, answer));
    }

    @Test
    void aTaskWithoutChangelogMustHaveNoStandby() {
        MemberAnswer answer = newValidAnswer();
        answer.addStandby(2, 2);
        assertEquals(
                "found a standby of task 1_0, which has no changelog; allowed: none",
                MemberAnswerCheck.findFault(group, answer));
    }

    @Test
    void everyMemberMustBeNamed() {
        assertEquals(
                "found an answer for 2 members; allowed: for each of the 3",
                MemberAnswerCheck.findFault(group, new MemberAnswer(2)));
    }
}

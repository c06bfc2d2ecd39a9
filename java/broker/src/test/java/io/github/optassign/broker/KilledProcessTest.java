package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A process is killed. The group loses its threads one by one, each when its session times out, so that for a moment it
 * looks like a smaller process. In the end its tasks are where their standbys were.
 */
class KilledProcessTest {
    private static final long END = 1_000_000;

    static Stream<Arguments> kills() {
        return Stream.of(3, 4, 6, 10)
                .flatMap(processes -> Stream.of(2, 4)
                        .flatMap(threads ->
                                Stream.of("a", "b", "c").map(killed -> Arguments.of(processes, threads, killed))));
    }

    @ParameterizedTest(name = "{0} processes with {1} threads, of which {2} is killed")
    @MethodSource("kills")
    void aKilledProcessIsReplacedByItsStandbys(int processes, int threads, String killed) {
        Moves known = kill(BrokerTestGroup.newAssignor(), true, processes, threads, killed);
        assertEquals(0, known.cold(), "where lags are known");
        Moves unknown = kill(BrokerTestGroup.newAssignor(), false, processes, threads, killed);
        Moves kafkas = kill(new StickyTaskAssignor(), false, processes, threads, killed);
        assertTrue(unknown.cold() <= kafkas.cold(), () -> unknown + ", under Kafka's sticky " + kafkas);
    }

    /**
     * The moves after a kill.
     *
     * @param cold the number of tasks with state that move to processes without a copy of them
     * @param others the number of tasks that move although their process lives
     */
    private record Moves(int cold, int others) {}

    private static Moves kill(TaskAssignor assignor, boolean hasOffsets, int processes, int threads, String killed) {
        int tasks = processes * threads * 2;
        BrokerTestGroup group =
                new BrokerTestGroup(1).logged("0", tasks).logged("1", tasks).stateless("2", tasks);
        for (int i = 0; i < processes; i++) {
            group.process(String.valueOf((char) ('a' + i)), threads);
        }
        for (int i = 0; i < 12; i++) {
            group.assign(assignor);
            if (hasOffsets) {
                group.reportOffsets(END, 0);
            }
        }
        Map<String, String> before = group.owners();
        Map<String, Set<String>> standbys = group.standbyProcesses();
        for (int i = 0; i < threads; i++) {
            group.members().remove(killed + i);
            group.assign(assignor);
        }
        Map<String, String> after = group.owners();
        int cold = 0;
        int others = 0;
        for (Map.Entry<String, String> owner : before.entrySet()) {
            String task = owner.getKey();
            boolean moves = !after.get(task).equals(owner.getValue());
            boolean isCold = standbys.containsKey(task) && !standbys.get(task).contains(after.get(task));
            cold += moves && isCold ? 1 : 0;
            others += moves && !owner.getValue().equals(killed) ? 1 : 0;
        }
        return new Moves(cold, others);
    }
}

package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.coordinator.group.streams.AssignmentRefiner;
import org.apache.kafka.coordinator.group.streams.TasksTuple;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A broker begins to warm up by itself (KAFKA-20665) while a group has warm-ups of the assignor. The broker's refiner
 * is a model here. A task with state stays on its owner, and is a warm-up task of its new member, until that member has
 * caught up. The refiner of 4.4.0 changes nothing.
 */
class HandoverTest {
    private static final long END = 1_000_000;

    private final OptassignGroupAssignor assignor = BrokerTestGroup.newAssignor();
    private final BrokerTestGroup group = new BrokerTestGroup(1)
            .logged("0", 24)
            .stateless("1", 12)
            .process("a", 2)
            .process("b", 2)
            .process("c", 2);
    /** The tasks whose whole state each process has. */
    private final Map<String, Set<String>> disks = new TreeMap<>();

    @AfterEach
    void forget() {
        OptassignGroupAssignor.forgetWarmups();
    }

    private static String name(String subtopology, int partition) {
        return subtopology + "_" + partition;
    }

    private static String processOf(String member) {
        return member.substring(0, 1);
    }

    /** Makes each member report the offsets of its copies and warm-ups from its disk. */
    private void reportOffsets() {
        group.members().forEach((id, member) -> {
            member.forgetOffsets();
            for (Map<String, Set<Integer>> copies : Set.of(member.standby, member.warmup)) {
                copies.getOrDefault("0", Set.of())
                        .forEach(p -> member.report(
                                "0", p, disks.get(processOf(id)).contains(name("0", p)) ? END : 1000, END));
            }
        });
    }

    private Set<String> disk(String process) {
        return disks.computeIfAbsent(process, none -> new TreeSet<>());
    }

    /** Restores all copies and warm-ups of a process. */
    private void restore(String process) {
        group.members().forEach((id, member) -> {
            if (processOf(id).equals(process)) {
                for (Map<String, Set<Integer>> copies : Set.of(member.active, member.standby, member.warmup)) {
                    copies.getOrDefault("0", Set.of())
                            .forEach(p -> disk(process).add(name("0", p)));
                }
            }
        });
    }

    /**
     * Assigns, and gives members the refined tasks.
     *
     * @return the process of each task in the target
     */
    private Map<String, String> assignAndRefine(int most) {
        Map<String, BrokerTestGroup.TestMember> members = group.members();
        Map<String, String> ownerBefore = new HashMap<>();
        members.forEach((id, member) ->
                member.active.forEach((g, partitions) -> partitions.forEach(p -> ownerBefore.put(name(g, p), id))));
        Map<String, Map<String, Set<Integer>>> before = new HashMap<>();
        members.forEach((id, member) -> before.put(id, member.active));
        group.assign(assignor);
        Map<String, String> target = new TreeMap<>(group.owners());
        Map<String, Map<String, Set<Integer>>> active = new TreeMap<>();
        members.keySet().forEach(id -> active.put(id, new HashMap<>()));
        members.values().forEach(member -> member.warmup = new HashMap<>());
        int[] warmups = {0};
        members.forEach((id, member) -> member.active.forEach((g, partitions) -> partitions.forEach(p -> {
            String old = ownerBefore.get(name(g, p));
            boolean isReady = g.equals("1") || disk(processOf(id)).contains(name(g, p));
            boolean isStaying = old == null || processOf(old).equals(processOf(id)) || isReady;
            active.get(isStaying ? id : old)
                    .computeIfAbsent(g, none -> new HashSet<>())
                    .add(p);
            if (!isStaying && warmups[0]++ < most) {
                member.warmup.computeIfAbsent(g, none -> new HashSet<>()).add(p);
            }
        })));
        members.forEach((id, member) -> {
            member.active = active.get(id);
            member.standby = new HashMap<>(member.standby);
            member.standby.replaceAll((g, partitions) -> {
                Set<Integer> kept = new HashSet<>(partitions);
                kept.removeIf(p -> processOf(ownerId(g, p)).equals(processOf(id)));
                return kept;
            });
        });
        return target;
    }

    private String ownerId(String subtopology, int partition) {
        return group.members().entrySet().stream()
                .filter(each -> each.getValue()
                        .active
                        .getOrDefault(subtopology, Set.of())
                        .contains(partition))
                .map(Map.Entry::getKey)
                .findFirst()
                .orElseThrow();
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 20})
    void theTargetIsReturnedAtOnceAndStaysWhileTheBrokerWarmsUp(int most) {
        for (int i = 0; i < 3; i++) {
            group.assign(assignor);
            Set.of("a", "b", "c").forEach(this::restore);
            reportOffsets();
        }
        Map<String, String> start = new TreeMap<>(group.owners());
        group.process("d", 2);
        disk("d");
        group.assign(assignor);
        reportOffsets();
        assertTrue(
                group.owners().entrySet().stream()
                        .noneMatch(each ->
                                each.getKey().startsWith("0") && each.getValue().equals("d")),
                "the assignor's own warm-ups are under way");

        // The broker has been upgraded and warms up by itself.
        group.member("d0").warmup = new HashMap<>(Map.of("0", new HashSet<>(Set.of(0))));
        reportOffsets();
        Map<String, String> target = assignAndRefine(most);
        assertEquals(9, target.values().stream().filter("d"::equals).count(), "a quarter of all tasks");
        int calls = 0;
        while (!group.owners().equals(target)) {
            assertTrue(calls++ < 40, "the target is reached");
            restore("d");
            reportOffsets();
            assertEquals(target, assignAndRefine(most), "the target stays while it is reached");
        }
        reportOffsets();
        assertEquals(target, assignAndRefine(most));
        Set<String> moved = new TreeSet<>(target.keySet());
        moved.removeIf(task -> target.get(task).equals(start.get(task)));
        assertEquals(9, moved.size(), "each task moves at most once, and no other task moves");
        assertTrue(moved.stream().allMatch(task -> target.get(task).equals("d")));
    }

    @Test
    void theRefinerOf440ChangesNothing() {
        Map<String, TasksTuple> target = Map.of("m", new TasksTuple(Map.of("0", Set.of(1)), Map.of(), Map.of()));
        assertSame(target, AssignmentRefiner.refine(Map.of(), target, Map.of(), null, 2, 10_000));
    }
}

package io.github.optassign.watch.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.junit.jupiter.api.Test;

/** The change of a group's tags by a trigger, and its restoration. */
class RackTagsTest {
    private static void expect(OpType type, String value, AlterConfigOp change) {
        assertEquals(type, change.opType());
        assertEquals(value, change.configEntry().value());
        assertEquals("streams.rack.aware.assignment.tags", change.configEntry().name());
    }

    @Test
    void aGroupWithoutTagsGetsTheMarkAndLosesItAgain() {
        RackTags before = new RackTags(Optional.empty(), List.of());
        assertFalse(before.isConfigChanged());
        expect(OpType.SET, "optassign", before.toggle());
        RackTags after = new RackTags(Optional.of(List.of("optassign")), List.of());
        assertTrue(after.isConfigChanged());
        expect(OpType.DELETE, null, after.toggle());
    }

    @Test
    void theGroupsOwnTagsStay() {
        expect(
                OpType.SET,
                "zone,rack,optassign",
                new RackTags(Optional.of(List.of("zone", "rack")), List.of()).toggle());
        RackTags after = new RackTags(Optional.of(List.of("zone", "rack", "optassign")), List.of());
        expect(OpType.SET, "zone,rack", after.toggle());
    }

    @Test
    void theBrokersTagsApplyAndAreNotLeftAtTheGroup() {
        expect(OpType.SET, "cell,optassign", new RackTags(Optional.empty(), List.of("cell")).toggle());
        RackTags after = new RackTags(Optional.of(List.of("cell", "optassign")), List.of("cell"));
        expect(OpType.DELETE, null, after.toggle());
    }

    @Test
    void tagsThatWereAddedMeanwhileStay() {
        RackTags both = new RackTags(Optional.of(List.of("optassign", "zone")), List.of());
        expect(OpType.SET, "zone", both.toggle());
    }

    @Test
    void aMarkInTheBrokersDefaultIsNotTheWatchers() {
        assertFalse(new RackTags(Optional.empty(), List.of("optassign")).isConfigChanged());
    }
}

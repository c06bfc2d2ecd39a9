package io.github.optassign.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.github.optassign.model.Answer;
import io.github.optassign.model.CheckedAnswer;
import io.github.optassign.model.RackTraffic;
import io.github.optassign.model.Snapshot;
import io.github.optassign.model.Timing;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.policy.WaitPolicy;
import io.github.optassign.testing.Rules;
import io.github.optassign.testing.TestGroup;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.RandomDistribution;
import net.jqwik.api.Tuple;

/** Damaged answers are either refused in one line, or keep the rules by an independent check. */
class AnswerFuzzTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<String> EXTREME = List.of(
            "null",
            "true",
            "0",
            "-1",
            "1.5",
            "1e999",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "\"\"",
            "\"0_0\"",
            "\"0_1\"",
            "\"9_9\"",
            "\"\\u2028\\u202e\\u0000\"",
            "\"\\ud800\"",
            "[]",
            "{}",
            "[[]]",
            "[\"0_0\",\"0_0\"]",
            "{\"\":0}",
            "\"2026-01-01T00:00:00Z\"",
            "\"+999999999-12-31T23:59:59-18:00\"",
            "1000");

    private static final Set<String> TASKS = Set.of("active", "standby", "warmup");

    /**
     * A change of a document.
     *
     * @param what the kind of change
     * @param where the place in the document, as a share of all places, from 0 to below 1
     * @param other another place, or the value to put there
     */
    record Change(What what, double where, double other) {}

    /** The kinds of changes. */
    enum What {
        REPLACE,
        REMOVE,
        REPEAT,
        COPY,
        ADD,
        MOVE_TASK,
        ADD_TASK
    }

    /** A place in a document: a field of an object or an item of a list. */
    private record Place(JsonNode holder, String field, int index) {
        JsonNode get() {
            return field == null ? holder.get(index) : holder.get(field);
        }

        void set(JsonNode value) {
            if (field == null) {
                ((ArrayNode) holder).set(index, value);
            } else {
                ((ObjectNode) holder).set(field, value);
            }
        }

        void remove() {
            if (field == null) {
                ((ArrayNode) holder).remove(index);
            } else {
                ((ObjectNode) holder).remove(field);
            }
        }
    }

    @Provide
    Arbitrary<TestGroup> groups() {
        return Arbitraries.longs().dontShrink().map(seed -> TestGroup.random(new Random(seed)));
    }

    @Provide
    Arbitrary<List<Change>> changes() {
        // Without this jqwik would nearly always choose the first places.
        Arbitrary<Double> places = Arbitraries.integers()
                .between(0, 999_999)
                .withDistribution(RandomDistribution.uniform())
                .withoutEdgeCases()
                .map(each -> each / 1e6);
        // Changes that break the form are refused at once, so others are tried more often.
        Arbitrary<What> what = Arbitraries.frequencyOf(
                Tuple.of(1, Arbitraries.of(What.class)), Tuple.of(2, Arbitraries.of(What.MOVE_TASK, What.ADD_TASK)));
        return Combinators.combine(what, places, places).as(Change::new).list().ofMaxSize(3);
    }

    @Property
    void isRefusedInALineOrKeepsTheRules(@ForAll("groups") TestGroup group, @ForAll("changes") List<Change> changes)
            throws IOException {
        Snapshot snapshot = group.snapshot();
        ObjectNode document = (ObjectNode) JSON.readTree(write(snapshot));
        changes.forEach(change -> apply(document, change));
        check(group, snapshot, JSON.writeValueAsString(document), changes.isEmpty());
    }

    /** Damages the text so that it may be no valid JSON. */
    @Property
    void damagedTextIsRefusedInALine(
            @ForAll("groups") TestGroup group, @ForAll double where, @ForAll char put, @ForAll boolean cut)
            throws IOException {
        Snapshot snapshot = group.snapshot();
        String text = write(snapshot);
        int at = (int) (Math.abs(where % 1) * text.length());
        check(group, snapshot, text.substring(0, at) + put + (cut ? "" : text.substring(at + 1)), false);
    }

    private static String write(Snapshot snapshot) throws IOException {
        Timing timing = new Timing(1_767_225_600_000L, false);
        RebalancePlanner.Result result = RebalancePlanner.answer(snapshot, null, RackTraffic.NONE, timing);
        return AnswerWriter.write(RebalancePlanner.toAnswer(snapshot, result), result.stalled(), result.toBalanceMs());
    }

    private static void check(TestGroup group, Snapshot snapshot, String text, boolean isRight) {
        Answer answer;
        CheckedAnswer checked;
        try {
            answer = AnswerReader.read(text, snapshot);
            checked = AnswerCheck.check(snapshot, answer);
            RuleCheck.check(snapshot, answer, checked);
        } catch (WrongAnswer e) {
            assertFalse(isRight, e.getMessage());
            assertTrue(e.getMessage().length() < 1_000, e.getMessage());
            assertTrue(e.getMessage().codePoints().noneMatch(Character::isISOControl), e.getMessage());
            return;
        }
        for (long delay : checked.followupMs()) {
            assertTrue(delay == -1 || delay >= WaitPolicy.LEAST_AFTER_PASS_MS, text);
        }
        assertTrue(answer.progress().size() <= text.length() / 20, "more than was written");
        List<String> broken = new ArrayList<>(Rules.broken(group, answer));
        // R10: a task without an owner may be on a client that is hardly worse than the best.
        broken.removeIf(line -> line.matches("R[35] .*") && isOwnerless(group, line.split(" ")[1]));
        assertEquals(List.of(), broken, text);
    }

    private static boolean isOwnerless(TestGroup group, String task) {
        return group.clients.stream().noneMatch(client -> client.active.contains(task));
    }

    private static void apply(ObjectNode document, Change change) {
        List<Place> places = new ArrayList<>();
        collect(document, places);
        if (places.isEmpty()) {
            return;
        }
        if (change.what == What.MOVE_TASK || change.what == What.ADD_TASK) {
            changeTasks(places, change);
            return;
        }
        Place place = places.get((int) (change.where * places.size()));
        Place other = places.get((int) (change.other * places.size()));
        switch (change.what) {
            case REPLACE -> place.set(pickExtreme(change.other));
            case REMOVE -> place.remove();
            case REPEAT -> {
                if (place.holder instanceof ArrayNode list) {
                    list.add(place.get().deepCopy());
                }
            }
            case COPY -> place.set(other.get().deepCopy());
            case ADD -> {
                if (place.get() instanceof ArrayNode list) {
                    list.add(pickExtreme(change.other));
                } else if (place.get() instanceof ObjectNode object) {
                    object.set("new", pickExtreme(change.other));
                }
            }
            default -> throw new IllegalStateException(change.toString());
        }
    }

    /** Moves or copies a task from one list of tasks to another, which keeps the form valid. */
    private static void changeTasks(List<Place> places, Change change) {
        List<ArrayNode> lists = new ArrayList<>();
        for (Place place : places) {
            if (TASKS.contains(String.valueOf(place.field)) && place.get() instanceof ArrayNode list) {
                lists.add(list);
            }
        }
        List<ArrayNode> sources = lists.stream().filter(list -> !list.isEmpty()).toList();
        if (!sources.isEmpty()) {
            ArrayNode from = sources.get((int) (change.where * sources.size()));
            double within = change.where * sources.size() % 1;
            int index = (int) (within * from.size());
            JsonNode task = from.get(index).deepCopy();
            if (change.what == What.MOVE_TASK) {
                from.remove(index);
            }
            lists.get((int) (change.other * lists.size())).add(task);
        }
    }

    private static JsonNode pickExtreme(double which) {
        String text = EXTREME.get((int) (which * EXTREME.size()));
        try {
            return JSON.readTree(text);
        } catch (IOException e) {
            throw new IllegalStateException(text, e);
        }
    }

    private static void collect(JsonNode node, List<Place> places) {
        if (node instanceof ObjectNode object) {
            object.fieldNames().forEachRemaining(name -> places.add(new Place(object, name, -1)));
        } else {
            for (int i = 0; i < node.size(); i++) {
                places.add(new Place(node, null, i));
            }
        }
        node.forEach(child -> collect(child, places));
    }
}

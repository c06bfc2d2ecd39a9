package io.github.optassign.broker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.optassign.broker.dealing.MemberAnswer;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.opinion.GroupFingerprint;
import io.github.optassign.broker.opinion.OpinionRequests;
import io.github.optassign.broker.opinion.SecondOpinion;
import io.github.optassign.model.Placement;
import io.github.optassign.model.Snapshot;
import io.github.optassign.planner.RebalancePlanner;
import io.github.optassign.testing.Awaiting;
import io.github.optassign.testing.LogLines;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A service behind a bad planner. Twelve tasks, each with more state than the previous one, are on a and b when c
 * joins. The planner gives c the last four, which is balanced; the first four would be better.
 */
@Timeout(120)
class OpinionRequestsTest {
    private static final Set<String> FIRST_FOUR = Set.of("0_0", "0_1", "0_2", "0_3");
    private static final Set<String> LAST_FOUR = Set.of("0_8", "0_9", "0_10", "0_11");

    private final OpinionRequests requests = new OpinionRequests(10, 10_000, 1);
    private FakeOpinionService service;

    @BeforeEach
    void start() throws IOException {
        service = new FakeOpinionService();
    }

    @AfterEach
    void stop() {
        service.close();
    }

    /** A planner with bad plans, unless there is a plan of the service to continue from. */
    private static final Planning.Planner BAD = (snapshot, last) -> {
        if (last != null && !last.answer().isByPlanner()) {
            return Planning.Planner.DEFAULT.plan(snapshot, last);
        }
        Placement now = Placement.empty(snapshot.taskCount());
        for (int t = 0; t < snapshot.taskCount(); t++) {
            now.active()[t] = snapshot.owners(t).length == 0 ? t % 2 : snapshot.owners(t)[0];
        }
        if (snapshot.clientCount() == 2) {
            return new RebalancePlanner.Result(now, null);
        }
        Placement plan = Placement.empty(snapshot.taskCount());
        System.arraycopy(now.active(), 0, plan.active(), 0, snapshot.taskCount());
        LAST_FOUR.forEach(task -> plan.active()[snapshot.taskIndex(task)] = 2);
        return new RebalancePlanner.Result(now, plan);
    };

    private OptassignGroupAssignor newAssignor(String url, int timeoutMs) {
        var assignor = new OptassignGroupAssignor(BAD, new GroupMemory(), requests);
        assignor.configure(Map.of("optassign.url", url, "optassign.timeout.ms", timeoutMs));
        return assignor;
    }

    private static BrokerTestGroup newGroup(OptassignGroupAssignor assignor) {
        BrokerTestGroup group =
                new BrokerTestGroup(0).logged("0", 12).process("a", 1).process("b", 1);
        group.assign(assignor);
        group.members()
                .forEach((id, member) -> member.active.get("0").forEach(p -> {
                    long end = 1_000_000L * (p + 1);
                    member.report("0", p, end, end);
                }));
        group.process("c", 1);
        group.members().values().forEach(member -> member.tags = Map.of("optassign", "orders", "zone", "z1"));
        return group;
    }

    /** Returns an answer in which members keep their tasks, with a plan in which c has the given tasks. */
    private static String answer(BrokerTestGroup group, Set<String> tasksOfC) {
        Map<String, String> owners = group.owners();
        Map<String, String> planned = new TreeMap<>(owners);
        tasksOfC.forEach(task -> planned.put(task, "c"));
        return answer(owners, planned);
    }

    private static String answer(Map<String, String> owners, Map<String, String> planned) {
        return "{\"format\": 1, \"assignor\": \"cp-sat\", \"clients\": " + list(owners) + ", \"plan\": " + list(planned)
                + "}";
    }

    private static String list(Map<String, String> owners) {
        return Stream.of("a", "b", "c")
                .map(process -> "{\"process_id\": \"" + process + "\", \"active\": "
                        + owners.entrySet().stream()
                                .filter(entry -> entry.getValue().equals(process))
                                .map(entry -> '"' + entry.getKey() + '"')
                                .toList()
                        + "}")
                .collect(Collectors.joining(", ", "[", "]"));
    }

    private void awaitAnswer() {
        Awaiting.until(requests::isIdle, () -> "the service is still being asked");
    }

    /**
     * Assigns, waits for the service's answer, and assigns again.
     *
     * @return the tasks with warm-ups after that
     */
    private Set<String> warmUps(BrokerTestGroup group, OptassignGroupAssignor assignor) {
        group.assign(assignor);
        awaitAnswer();
        group.assign(assignor);
        return group.standbyProcesses().keySet();
    }

    @Test
    void aBetterPlanIsUsedAtTheNextCall() {
        var assignor = newAssignor(service.url(), 60_000);
        BrokerTestGroup group = newGroup(assignor);
        service.behaviour = (exchange, body) -> answer(group, FIRST_FOUR);
        try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
            assertEquals(FIRST_FOUR, warmUps(group, assignor));
            assertEquals(1, log.count("plan_by=service"));
        }
        assertEquals(1, service.bodies.size(), "the group was at rest in the first call");
        String body = service.bodies.get(0);
        assertTrue(body.contains("\"application\":\"orders\""), body);
        assertTrue(body.contains("\"changelog_end_offset\":12000000"), body);
        assertTrue(body.contains("\"zone\":\"z1\""), body);
        group.members().get("c0").standby.get("0").forEach(p -> {
            long end = 1_000_000L * (p + 1);
            group.member("c0").report("0", p, end, end);
        });
        assertEquals(4, group.assign(assignor), "the first four, and no others");
        FIRST_FOUR.forEach(task -> assertEquals("c", group.owners().get(task)));
    }

    private record Hostile(String what, Function<BrokerTestGroup, FakeOpinionService.Behaviour> behaviour) {
        @Override
        public String toString() {
            return what;
        }
    }

    private static Arguments says(String what, Function<BrokerTestGroup, String> text) {
        return Arguments.of(new Hostile(what, group -> (exchange, body) -> text.apply(group)));
    }

    private static Arguments does(String what, FakeOpinionService.Behaviour behaviour) {
        return Arguments.of(new Hostile(what, group -> behaviour));
    }

    private static Map<String, String> with(Map<String, String> owners, String task, String process) {
        Map<String, String> changed = new HashMap<>(owners);
        changed.put(task, process);
        return changed;
    }

    static Stream<Arguments> hostileAnswers() {
        String twice = "{\"process_id\": \"c\", \"active\": [";
        return Stream.of(
                says("nothing", group -> ""),
                says("no JSON", group -> "<html>"),
                says("another format", group -> answer(group, FIRST_FOUR).replace("\"format\": 1", "\"format\": 2")),
                says("a list", group -> "[]"),
                says("deeply nested", group -> "[".repeat(100_000)),
                says("endless", group -> " ".repeat(10_000_000)),
                says(
                        "a task active twice",
                        group -> answer(group, FIRST_FOUR).replaceFirst(Pattern.quote(twice), twice + "\"0_0\"")),
                says("a missing task", group -> answer(with(group.owners(), "0_0", "?"), group.owners())),
                says("a missing task in the plan", group -> answer(group.owners(), with(group.owners(), "0_0", "?"))),
                says(
                        "a missing member",
                        group -> answer(group, FIRST_FOUR)
                                .replaceFirst(", \\{\"process_id\": \"c\", \"active\": \\[\\]\\}", "")),
                says("an unknown member", group -> answer(group, FIRST_FOUR).replace("\"c\"", "\"x\"")),
                says("no members", group -> "{\"format\": 1, \"assignor\": \"cp-sat\", \"clients\": []}"),
                says("no such partition", group -> answer(group, FIRST_FOUR).replace("0_0", "0_99")),
                says("no such subtopology", group -> answer(group, FIRST_FOUR).replace("0_0", "7_0")),
                says(
                        "a standby in the process of its active",
                        group -> answer(group, FIRST_FOUR)
                                .replaceFirst("\"active\": (\\[[^]]+])", "\"active\": $1, \"standby\": $1")),
                says(
                        "state where there is none (R3)",
                        group -> answer(with(group.owners(), "0_0", "c"), group.owners())),
                says(
                        "a plan with all tasks on one process",
                        group -> answer(group, group.owners().keySet())),
                says("a plan that restores more", group -> answer(group, Set.of("0_11", "0_10", "0_9", "0_7"))),
                says("the same plan", group -> answer(group, LAST_FOUR)),
                does("another protocol", (exchange, body) -> {
                    exchange.getResponseHeaders().set("Optassign-Protocol", "9");
                    return "{}";
                }),
                does("no such page", (exchange, body) -> FakeOpinionService.reply(exchange, 404, "{}")),
                does("no right", (exchange, body) -> FakeOpinionService.reply(exchange, 401, "{}")));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("hostileAnswers")
    void afterAnInvalidAnswerThePlannersPlanStands(Hostile hostile) {
        var assignor = newAssignor(service.url(), 60_000);
        BrokerTestGroup group = newGroup(assignor);
        service.behaviour = hostile.behaviour.apply(group);
        Map<String, String> before = group.owners();
        try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
            assertEquals(Set.of(), warmUps(group, assignor), "the planner's plan has no warm-ups here");
            assertEquals(2, log.count("plan_by=planner"));
            assertEquals(0, log.count("the previous assignment is kept"));
        }
        assertEquals(before, group.owners());
    }

    /** While the service fails, assignments continue without it, and the request is repeated. */
    @ParameterizedTest
    @ValueSource(strings = {"breaks off", "answers 503", "answers 500", "answers too late"})
    void aServiceThatFailsIsAskedAgain(String how) {
        var assignor = newAssignor(service.url(), how.equals("answers too late") ? 200 : 60_000);
        BrokerTestGroup group = newGroup(assignor);
        AtomicInteger asked = new AtomicInteger();
        service.behaviour = (exchange, body) -> {
            if (asked.incrementAndGet() > 2) {
                return answer(group, FIRST_FOUR);
            }
            switch (how) {
                case "answers 503" -> FakeOpinionService.reply(exchange, 503, "{}");
                case "answers 500" -> FakeOpinionService.reply(exchange, 500, "{}");
                case "answers too late" -> service.closing.await();
                default -> exchange.close();
            }
            return null;
        };
        assertEquals(FIRST_FOUR, warmUps(group, assignor));
    }

    /** The requests of other groups are answered while the service fails at one group. */
    @Test
    void aGroupThatTheServiceCannotAnswerHoldsUpNoOther() {
        var assignor = newAssignor(service.url(), 60_000);
        service.behaviour = (exchange, body) -> {
            FakeOpinionService.reply(exchange, 500, "{}");
            return null;
        };
        newGroup(assignor).assign(assignor);
        BrokerTestGroup other = newGroup(assignor);
        other.members().values().forEach(member -> member.tags = Map.of("optassign", "payments"));
        service.behaviour = (exchange, body) -> {
            if (body.contains("payments")) {
                return answer(other, FIRST_FOUR);
            }
            FakeOpinionService.reply(exchange, 500, "{}");
            return null;
        };
        other.assign(assignor);
        Awaiting.until(
                () -> service.bodies.stream().anyMatch(body -> body.contains("payments")),
                () -> "asked " + service.bodies.size() + " times");
        service.behaviour = (exchange, body) -> FakeOpinionService.reply(exchange, 401, "{}");
        awaitAnswer();
    }

    /** The request has no weights, so the service would plan by numbers of tasks. */
    @Test
    void underWeightsTheServiceIsNotAsked() {
        var assignor = new OptassignGroupAssignor(BAD, new GroupMemory(), requests);
        assignor.configure(Map.of("optassign.url", service.url(), "optassign.weights", "changelog"));
        BrokerTestGroup group = newGroup(assignor);
        group.assign(assignor);
        assertTrue(requests.isIdle());
        assertEquals(List.of(), service.bodies);
    }

    /**
     * Tasks whose changelogs' ends no member knows have the same end in the request, and no lags of other processes.
     */
    @Test
    void lagsAreSparse() {
        var assignor = newAssignor(service.url(), 60_000);
        BrokerTestGroup group = newGroup(assignor);
        group.members().values().forEach(member -> member.endOffsets.clear());
        group.members().values().forEach(member -> member.offsets.clear());
        String first = group.owners().get("0_0");
        group.member(first + "0").report("0", 0, 5_000_000, 5_000_000);
        service.behaviour = (exchange, body) -> answer(group, FIRST_FOUR);
        group.assign(assignor);
        awaitAnswer();
        String body = service.bodies.get(0);
        assertEquals(12, body.split("\"changelog_end_offset\":5000000", -1).length - 1, body);
        assertTrue(
                body.contains(
                        "\"process_id\":\"c\",\"threads\":1,\"previous_active\":[],\"previous_standby\":[],\"lags\":{}"),
                body);
    }

    @Test
    void aServiceThatIsDownOrHangsIsNotAwaited() throws IOException {
        int unusedPort;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            unusedPort = socket.getLocalPort();
        }
        service.behaviour = (exchange, body) -> {
            service.closing.await();
            return null;
        };
        for (String url : List.of("http://127.0.0.1:" + unusedPort, service.url())) {
            var assignor = newAssignor(url, 60_000);
            BrokerTestGroup group = newGroup(assignor);
            for (int call = 0; call < 50; call++) {
                group.assign(assignor);
            }
            assertEquals(Set.of(), group.standbyProcesses().keySet());
        }
    }

    @Test
    void aPlanIsDroppedIfTheGroupHasChanged() {
        List<Runnable> changes = new ArrayList<>();
        BrokerTestGroup[] at = new BrokerTestGroup[1];
        changes.add(() -> at[0].process("c", 2));
        changes.add(() -> at[0].remove("b"));
        changes.add(() -> {
            Set<Integer> ofA = new HashSet<>(at[0].member("a0").active.get("0"));
            Set<Integer> ofB = new HashSet<>(at[0].member("b0").active.get("0"));
            ofA.remove(0);
            ofB.add(0);
            at[0].member("a0").active = Map.of("0", ofA);
            at[0].member("b0").active = Map.of("0", ofB);
        });
        changes.add(() -> at[0].stateless("1", 3));
        for (Runnable change : changes) {
            var assignor = newAssignor(service.url(), 60_000);
            BrokerTestGroup group = newGroup(assignor);
            at[0] = group;
            service.behaviour = (exchange, body) -> answer(group, FIRST_FOUR);
            group.assign(assignor);
            awaitAnswer();
            change.run();
            try (LogLines log = new LogLines(OptassignGroupAssignor.class)) {
                assignor.assign(group.toSpec(), group);
                assertEquals(0, log.count("plan_by=service"), "change " + changes.indexOf(change));
            }
        }
    }

    /** After a wrong answer only the group's own requests pause. */
    @Test
    void afterAWrongAnswerTheGroupIsNotAskedAboutForAWhile() {
        var assignor = newAssignor(service.url(), 60_000);
        BrokerTestGroup group = newGroup(assignor);
        for (int call = 0; call < 5; call++) {
            group.assign(assignor);
            awaitAnswer();
        }
        assertEquals(1, service.bodies.size());
        assignor = newAssignor(service.url(), 60_000);
        BrokerTestGroup other = newGroup(assignor);
        other.members().values().forEach(member -> member.tags = Map.of("optassign", "payments"));
        other.assign(assignor);
        awaitAnswer();
        assertEquals(2, service.bodies.size());
    }

    /** Only the last request of a group waits, and all waiting requests are bounded. */
    @Test
    void waitingRequestsAreBounded() {
        service.behaviour = (exchange, body) -> {
            service.closing.await();
            return null;
        };
        OpinionRequests small = new OpinionRequests(4, 100, 1);
        List<SecondOpinion> opinions = new ArrayList<>();
        for (String application : List.of("0", "1", "2", "3", "4", "5", "4")) {
            opinions.add(newOpinion(application, 3));
        }
        opinions.forEach(opinion -> small.submit(opinion, service.endpoint(60_000)));
        assertEquals(List.of(false, false, true, true, false, true, true), open(opinions));
        SecondOpinion large = newOpinion("6", 95);
        small.submit(large, service.endpoint(60_000));
        assertEquals(List.of(false, false, false, false, false, false, true), open(opinions));
        SecondOpinion tooLarge = newOpinion("7", 101);
        small.submit(tooLarge, service.endpoint(60_000));
        assertEquals(List.of(true, false), open(List.of(large, tooLarge)));
    }

    private static List<Boolean> open(List<SecondOpinion> opinions) {
        return opinions.stream().map(SecondOpinion::isOpen).toList();
    }

    private static SecondOpinion newOpinion(String application, int tasks) {
        BrokerTestGroup group = new BrokerTestGroup(0).logged("0", tasks).process("a", 1);
        BrokerGroup read = new BrokerGroup(group.toSpec(), group);
        Snapshot snapshot = read.toSnapshot(
                BrokerConfig.DEFAULT.acceptableLag(),
                BrokerConfig.DEFAULT.maxWarmups(),
                Set.of(),
                read.findRestoring(Map.of(), 0));
        Placement plan = Placement.empty(tasks);
        IntStream.range(0, tasks).forEach(t -> plan.active()[t] = 0);
        return new SecondOpinion(
                application,
                GroupFingerprint.after(read, new MemberAnswer(1)),
                snapshot,
                read.toDetails(snapshot),
                plan,
                null);
    }
}

package io.github.optassign.broker;

import io.github.optassign.broker.dealing.BrokerLastResort;
import io.github.optassign.broker.dealing.MemberAnswerCheck;
import io.github.optassign.broker.group.BrokerGroup;
import io.github.optassign.broker.opinion.OpinionRequests;
import io.github.optassign.broker.opinion.SecondOpinion;
import io.github.optassign.metrics.AssignorMetrics;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.api.streams.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.streams.assignor.TaskAssignor;
import org.apache.kafka.coordinator.group.api.streams.assignor.TopologyDescriber;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A broker's assignor of streams groups (KIP-1071, KIP-1357), to be named in {@code group.streams.assignors}.
 *
 * <p>{@link Planning} decides. If it fails, or {@link MemberAnswerCheck} finds a fault in its answer,
 * {@link BrokerLastResort} answers. If the group cannot be read, the previous assignment is kept.
 */
public final class OptassignGroupAssignor implements TaskAssignor, Configurable {
    private static final Logger LOG = LoggerFactory.getLogger(OptassignGroupAssignor.class);

    /** Whether the broker has warmed up tasks of any group by itself; if so, its assignors plan no warm-ups. */
    private static volatile boolean warmedUpByBroker;

    /** The most messages that are remembered, so that the broker's memory stays bounded. */
    private static final int MOST_LOGGED = 1_000;

    /**
     * The messages that have been logged. Kafka configures several assignors alike, and each message is logged once.
     */
    private static final Set<String> LOGGED = ConcurrentHashMap.newKeySet();

    private static final AtomicBoolean JVM_WARMED_UP = new AtomicBoolean();

    private final Planning.Planner planner;
    private final GroupMemory memory;
    private final OpinionRequests service;
    private final LongSupplier nanoTime;
    private volatile BrokerConfig config = BrokerConfig.DEFAULT;

    /** Creates an assignor that shares memory and requests with all others of this broker. Called by Kafka. */
    public OptassignGroupAssignor() {
        this(Planning.Planner.DEFAULT, GroupMemory.SHARED, OpinionRequests.SHARED, System::nanoTime);
    }

    OptassignGroupAssignor(Planning.Planner planner, GroupMemory memory) {
        this(planner, memory, new OpinionRequests());
    }

    OptassignGroupAssignor(Planning.Planner planner, GroupMemory memory, OpinionRequests service) {
        this(planner, memory, service, System::nanoTime);
    }

    OptassignGroupAssignor(
            Planning.Planner planner, GroupMemory memory, OpinionRequests service, LongSupplier nanoTime) {
        this.planner = planner;
        this.memory = memory;
        this.service = service;
        this.nanoTime = nanoTime;
    }

    @Override
    public String name() {
        return "optassign";
    }

    @Override
    public void configure(Map<String, ?> configs) {
        config = BrokerConfig.read(configs);
        config.remarks().stream()
                .filter(OptassignGroupAssignor::isNew)
                .forEach(remark -> LOG.warn("optassign: {}", remark));
        if (!JVM_WARMED_UP.getAndSet(true)) {
            warmUpJvm();
        }
    }

    private static boolean isNew(String message) {
        if (LOGGED.size() >= MOST_LOGGED) {
            LOGGED.clear();
        }
        return LOGGED.add(message);
    }

    private static void warmUpJvm() {
        try {
            JvmWarmup.run();
        } catch (Throwable e) {
            LOG.warn("optassign: the warm-up of the JVM failed, so the first calls are slow", e);
        }
        try {
            OwnClasses.load(OptassignGroupAssignor.class);
        } catch (Throwable e) {
            LOG.warn(
                    "optassign: not all classes are loaded, so the jar must not be overwritten while the broker runs",
                    e);
        }
    }

    @Override
    public GroupAssignment assign(GroupSpec spec, TopologyDescriber topology) {
        long start = System.nanoTime();
        try {
            BrokerGroup group = new BrokerGroup(spec, topology);
            return group.members().isEmpty() ? new GroupAssignment(Map.of()) : assign(group, start);
        } catch (Throwable e) {
            return keepEverything(spec, e);
        }
    }

    private GroupAssignment assign(BrokerGroup group, long start) {
        noteWarmups(group);
        GroupMemory.Remembered remembered = memory.find(group);
        String name = group.findName(remembered == null ? null : remembered.name());
        String fault;
        try {
            Planning planning =
                    new Planning(group, name, config, planner, remembered, warmedUpByBroker, nanoTime.getAsLong());
            Planning.Decision decision = planning.decide();
            fault = MemberAnswerCheck.findFault(group, decision.answer());
            if (fault == null) {
                decision.remarks().stream()
                        .filter(remark -> isNew(name + " " + remark))
                        .forEach(remark -> LOG.warn("optassign: group={} {}", name, remark));
                memory.remember(group, decision.toRemember());
                logDecision(group, name, decision, remembered != null && remembered.isNoOffsetsLogged(), start);
                GroupAssignment answer = decision.answer().toKafka(group);
                count(name, metrics -> {
                    if (!planning.isContinuing()) {
                        metrics.forgetSettling();
                    }
                    metrics.count(decision.figures());
                });
                submit(decision.toRemember().opinion());
                return answer;
            }
            LOG.warn("optassign: group={} the planner's answer is wrong, which is a bug: {}", name, fault);
        } catch (Throwable e) {
            LOG.warn("optassign: group={} the planner failed, which is a bug", name, e);
        }
        memory.remember(group, GroupMemory.Remembered.ofName(group, name));
        LOG.warn("optassign: group={} the last resort answers: the previous assignment is kept", name);
        count(name, AssignorMetrics::countLastResort);
        return BrokerLastResort.answer(group).toKafka(group);
    }

    /** Queues a request to the service. A failure is logged and does not affect the answer. */
    private void submit(SecondOpinion opinion) {
        try {
            if (opinion != null) {
                service.submit(opinion, config.service());
            }
        } catch (Throwable e) {
            LOG.warn("optassign: the service is not asked", e);
        }
    }

    /** Updates the JMX metrics. A failure is logged and does not affect the answer. */
    private static void count(String name, Consumer<AssignorMetrics> update) {
        try {
            update.accept(AssignorMetrics.of(name));
        } catch (Throwable e) {
            LOG.warn("optassign: group={} an answer is not counted", name, e);
        }
    }

    private static void noteWarmups(BrokerGroup group) {
        if (group.isWarmedUpByBroker() && !warmedUpByBroker) {
            warmedUpByBroker = true;
            LOG.warn("optassign: this broker warms up by itself, so the assignor plans no warm-ups from now on");
        }
    }

    private static void logDecision(
            BrokerGroup group, String name, Planning.Decision decision, boolean isNoOffsetsLogged, long start) {
        if (decision.mode() == Planning.Mode.NO_OFFSETS && !isNoOffsetsLogged) {
            LOG.info(
                    "optassign: group={} has sent no offsets so far (Kafka Streams before 4.4 never does), so its tasks move "
                            + "without warm-ups",
                    name);
        }
        LOG.info(
                "optassign: group={} members={} processes={} tasks={} active_moved={} warmups={} plan_reached={} "
                        + "plan_by={} total_ms={}",
                name,
                group.members().size(),
                group.processes().size(),
                group.tasks().size(),
                decision.figures().measures().activeMoved(),
                decision.figures().measures().warmups(),
                decision.mode() != Planning.Mode.WARMING_UP || decision.isReached(),
                decision.isServicesPlan() ? "service" : "planner",
                (System.nanoTime() - start) / 1_000_000);
    }

    /** Returns the previous assignment from Kafka's objects, up to the first member that cannot be read. */
    private static GroupAssignment keepEverything(GroupSpec spec, Throwable cause) {
        Map<String, MemberAssignment> members = new HashMap<>();
        try {
            LOG.warn("optassign: a group cannot be read, so its previous assignment is kept exactly", cause);
            for (String id : spec.memberIds()) {
                var state = spec.memberAssignmentState(id);
                members.put(id, new MemberAssignment(state.activeTasks(), state.standbyTasks()));
            }
        } catch (Throwable e) {
            // An exception would end the application; a member without tasks waits for the next call.
            return new GroupAssignment(Collections.unmodifiableMap(members));
        }
        return new GroupAssignment(members);
    }

    /** Forgets that the broker has had warm-ups of its own. Visible for testing. */
    static void forgetWarmups() {
        warmedUpByBroker = false;
    }
}

package io.github.optassign.watch;

import io.github.optassign.watch.deciding.Decision;
import io.github.optassign.watch.deciding.Decision.Action;
import io.github.optassign.watch.deciding.GroupAssessment;
import io.github.optassign.watch.deciding.GroupView;
import io.github.optassign.watch.deciding.Limits;
import io.github.optassign.watch.deciding.TaskId;
import io.github.optassign.watch.deciding.TriggerRules;
import io.github.optassign.watch.deciding.WatchMemory;
import io.github.optassign.watch.kafka.Kafka;
import io.github.optassign.watch.kafka.RackTags;
import io.github.optassign.watch.metrics.Metrics;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A watched group. At each look it decides on an action, carries it out, and logs it. */
final class WatchedGroup {
    /** The longest pause after failed changes of a config. A repaired cluster is found within it. */
    private static final long LONGEST_BACK_OFF_MS = 300_000;
    /**
     * The first pause after a failed change of a config; each later pause takes twice as long. A restarting broker
     * returns within some of them.
     */
    private static final long FIRST_BACK_OFF_MS = 5_000;

    private static final Logger LOG = LoggerFactory.getLogger(WatchedGroup.class);

    private final String name;
    private final Kafka kafka;
    private final Metrics metrics;
    private final TriggerRules rules;
    private final long acceptable;
    private final boolean isDryRun;
    private WatchMemory memory = WatchMemory.none();
    private Map<TaskId, List<String>> activeBefore;
    private String heldBack = "";
    private int failures;
    private long retryAtMs;
    private boolean isUnderWay;
    private boolean isBusy;
    private boolean mayHaveChangedConfig;

    WatchedGroup(String name, Kafka kafka, Metrics metrics, Limits limits, boolean isDryRun) {
        this.name = name;
        this.kafka = kafka;
        this.metrics = metrics;
        this.isDryRun = isDryRun;
        rules = new TriggerRules(limits);
        acceptable = limits.acceptableLag();
    }

    /**
     * Looks at the group, and acts.
     *
     * @return the action that was carried out; {@code HOLD} if it failed, or waits after a failure
     */
    Action look(GroupView view, RackTags tags, long nowMs) throws InterruptedException {
        observe(view);
        Decision decision = rules.decide(view, memory, nowMs);
        WatchMemory updated = decision.next();
        if (decision.action() == Action.HOLD) {
            hold(decision);
        } else if (decision.action() != Action.NOTHING) {
            if (nowMs < retryAtMs || !act(decision, tags, nowMs)) {
                // The memory stays unchanged, so that the next look decides again.
                isBusy = false;
                return Action.HOLD;
            }
            activeBefore = view.active();
            isUnderWay = true;
            mayHaveChangedConfig = true;
        }
        memory = updated;
        isBusy = rules.isUnderWay(view, memory, nowMs);
        return decision.action();
    }

    /** Updates the group's metrics from a look, without acting. */
    void observe(GroupView view) {
        report(view);
        isUnderWay = view.phase() == GroupView.Phase.CHANGING || view.epoch() == memory.actedAtEpoch();
        mayHaveChangedConfig = view.isConfigChanged() || view.epoch() == memory.actedAtEpoch();
    }

    private void report(GroupView view) {
        GroupAssessment assessment = new GroupAssessment(view, acceptable);
        metrics.set("optassign_watch_config_changed", view.isConfigChanged() ? 1 : 0, "group", name);
        metrics.set("optassign_watch_done", assessment.isDone() ? 1 : 0, "group", name);
        metrics.set("optassign_watch_warming_up", assessment.tasksWithWarmups().size(), "group", name);
        if (memory.isEmpty() && view.isConfigChanged()) {
            LOG.info("group={} still has the mark of an old trigger, which is removed later", name);
        }
        if (activeBefore != null && view.epoch() > memory.epoch()) {
            Map<TaskId, List<String>> before = activeBefore;
            long moved = view.active().entrySet().stream()
                    .filter(task -> !Objects.equals(task.getValue(), before.get(task.getKey())))
                    .count();
            LOG.info(
                    "group={} assigned: active_moved={} warming_up={}",
                    name,
                    moved,
                    assessment.tasksWithWarmups().size());
            activeBefore = null;
        }
    }

    private void hold(Decision decision) {
        metrics.count("optassign_watch_held_back_total", "group", name, "for", decision.why());
        if (decision.why().equals("hour") && !heldBack.equals("hour")) {
            LOG.warn("group={} has reached its limit of triggers per hour, and waits: {}", name, decision.text());
        }
        heldBack = decision.why();
    }

    private boolean act(Decision decision, RackTags tags, long nowMs) throws InterruptedException {
        String action = decision.action() == Action.TRIGGER ? "trigger" : "restore";
        heldBack = "";
        if (isDryRun) {
            LOG.info("group={} would {}: reason={} ({})", name, action, decision.why(), decision.text());
            return true;
        }
        try {
            kafka.alter(name, tags.toggle());
        } catch (ExecutionException e) {
            retryAtMs = nowMs + Math.min(LONGEST_BACK_OFF_MS, FIRST_BACK_OFF_MS << Math.min(failures, Byte.SIZE));
            failures++;
            metrics.count("optassign_watch_failures_total");
            LOG.warn(
                    "group={} {} failed, next attempt in {} ms: {}",
                    name,
                    action,
                    retryAtMs - nowMs,
                    e.getCause().toString());
            return false;
        }
        failures = 0;
        if (decision.action() == Action.TRIGGER) {
            metrics.count("optassign_watch_triggers_total", "group", name, "reason", decision.why());
        }
        if (tags.isConfigChanged()) {
            metrics.count("optassign_watch_restorations_total", "group", name);
        }
        LOG.info(
                "group={} {}: reason={} ({}); {} {} the mark",
                name,
                action,
                decision.why(),
                decision.text(),
                RackTags.CONFIG,
                tags.isConfigChanged() ? "is without" : "has");
        return true;
    }

    /** Returns whether an assignment is expected or in progress. */
    boolean isUnderWay() {
        return isUnderWay;
    }

    /** Returns whether the next look should follow soon. */
    boolean isBusy() {
        return isBusy;
    }

    /** Returns whether the group's config may have the mark of a trigger. */
    boolean mayHaveChangedConfig() {
        return mayHaveChangedConfig;
    }
}

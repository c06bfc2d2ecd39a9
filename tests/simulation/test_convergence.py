"""Tests of convergences: the snapshot after an answer, the end of a convergence, and its sums."""

import json
from collections.abc import Callable, Mapping

import pytest
from _pytest.mark import ParameterSet
from judging import make_answer, make_snapshot

from optassign.formats.assignment import GoalReport, Report, TaskAssignment, Waiting
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import RUNNING, ApplicationState, KafkaStreamsState
from optassign.generating import generate
from optassign.judging.convergences import PlayedRebalance
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.described import list_measures
from optassign.measuring.placement import previous_assignment
from optassign.measuring.ranks import Ranks
from optassign.simulation.convergence import Convergence, converge
from optassign.simulation.successors import Growth, make_restored_snapshot, make_second_pass_snapshot
from optassign.utilities import AssignmentError, identity_assignment
from optassign_benchmarks.grid import GRID, Spec


class ScriptedAssignor:
    """An assignor that answers by a function and records the snapshots and verdicts that it gets."""

    def __init__(self, answer: Callable[[ApplicationState], TaskAssignment]) -> None:
        self._answer = answer
        self.seen: list[ApplicationState] = []
        self.heard: list[AssignmentError | None] = []

    def configure(self, configs: AssignmentConfigs) -> None:
        pass

    def assign(self, state: ApplicationState) -> TaskAssignment:
        self.seen.append(state)
        return self._answer(state)

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        self.heard.append(error)


def keep_all(state: ApplicationState) -> TaskAssignment:
    return TaskAssignment(assignor="keep", clients=tuple(identity_assignment(state).values()))


def move_towards(target: Mapping[str, str]) -> Callable[[ApplicationState], TaskAssignment]:
    """Return a function that answers without standbys: a task moves once it is caught up on its target, after a warm-up."""

    def answered(state: ApplicationState) -> TaskAssignment:
        ranked, clients = Ranks(state), [c.process_id for c in state.clients]
        cold = [task for task, client in target.items() if ranked.of(task, client)]
        best = {task: min(clients, key=lambda c: (ranked.of(task, c), c)) for task in cold}
        active = {**target, **best}
        served = cold[: state.configs.max_warmup_replicas]
        bound = GoalReport(stage="plan", name="restore_work", value=900, bound=900.0, gap=0.0, proven=True)
        waiting = tuple(Waiting(task=t, process_id=target[t], role="active", lag=ranked.lag(t, target[t])) for t in cold)
        given = {
            client: f"{' '.join(t for t in active if active[t] == client)} || "
            f"{' '.join(t for t in served if target[t] == client)}{'!' if cold and client == min(clients) else ''}"
            for client in clients
        }
        return make_answer(given).model_copy(update={"report": Report(goals=(bound,), waiting=waiting)})

    return answered


START = make_snapshot(
    {"0_0": 500, "0_1": 600, "0_2": 700, "1_0": "stateless"},
    {"a": {"active": "0_0 0_1 0_2 1_0", "lags": {"0_0": -2, "0_1": -2, "0_2": -2}}, "b": {"0_2": 300}},
    max_warmup_replicas=1,
)
TARGET = {"0_0": "a", "0_1": "b", "0_2": "b", "1_0": "a"}


def test_it_ends_once_the_plan_is_reached_and_rests() -> None:
    assignor = ScriptedAssignor(move_towards(TARGET))
    result = converge(START, assignor)
    assert (result.rebalances, result.settled, result.rests, result.stable) == (3, True, True, True), str(result)
    assert (result.moved_active, result.moved_logged, result.moved_more_than_once, result.moves_repeated) == (2, 2, 0, 0)
    # 0_1 restores the whole changelog, and so does 0_2, whose partial state is deleted before its warm-up begins.
    assert result.restored_offsets == 600 + 700
    assert result.lower_bound == 900
    assert result.violations == {}
    assert [step.followup for step in result.history] == [True, True, False]
    assert [len(step.waiting) for step in result.history] == [2, 1, 0]
    assert [step.measures.warmups for step in result.history] == [1, 1, 0]
    assert result.final.by_process_id["b"].active == ("0_1", "0_2")
    assert len(assignor.seen) == 4  # the last call checks that the group is at rest
    assert assignor.heard == [AssignmentError.NONE] * 4


def test_kept_state_is_used_though_it_grows_old() -> None:
    result = converge(START, ScriptedAssignor(move_towards(TARGET)), keep_state=True)
    assert result.stable, str(result)
    assert result.restored_offsets == 600 + 300 + (700 // 50 + 1)


def test_memory_is_the_previous_answer_or_none() -> None:
    with_memory, without = ScriptedAssignor(move_towards(TARGET)), ScriptedAssignor(move_towards(TARGET))
    state = START.model_copy(update={"remembered": keep_all(START)})
    converge(state, with_memory)
    assert [s.remembered and s.remembered.assignor for s in with_memory.seen] == ["keep", "test", "test", "test"]
    converge(state, without, memory=False)
    assert [s.remembered for s in without.seen] == [None] * 4


def test_a_limit_ends_it_unsettled() -> None:
    result = converge(START, ScriptedAssignor(move_towards(TARGET)), max_rebalances=2)
    assert (result.rebalances, result.settled, result.rests, result.stable) == (2, False, False, False)
    with pytest.raises(ValueError, match="max_rebalances: found 0"):
        converge(START, ScriptedAssignor(keep_all), max_rebalances=0)


def test_an_assignor_that_never_ends_is_stopped() -> None:
    def restless(state: ApplicationState) -> TaskAssignment:
        answer = keep_all(state)
        first = answer.clients[0].model_copy(update={"followup_rebalance_ms": 1})
        return answer.model_copy(update={"clients": (first, *answer.clients[1:])})

    result = converge(START, ScriptedAssignor(restless))
    assert not result.settled
    assert 20 < result.rebalances < 40


def test_an_assignor_that_changes_its_mind_does_not_rest() -> None:
    def restless(state: ApplicationState) -> TaskAssignment:
        a, b = (" ".join(client.previous_active) for client in state.clients)
        return make_answer({"a": b, "b": a})

    result = converge(make_snapshot({"1_0": "stateless"}, {"a": {"active": "1_0"}, "b": {}}), ScriptedAssignor(restless))
    assert (result.settled, result.rests, result.stable) == (True, False, False)
    assert result.rebalances == 1
    assert result.violations == {"R7": 2}, "both answers alter what is at rest"


def test_a_stalled_answer_is_not_settled() -> None:
    def stalled(state: ApplicationState) -> TaskAssignment:
        return keep_all(state).model_copy(update={"report": Report(stalled=True)})

    result = converge(START, ScriptedAssignor(stalled))
    assert (result.settled, result.rests, result.stable) == (False, True, False)


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        ({"a": "0_0 0_1 0_2 1_0", "b": "0_0"}, "R1"),
        ({"a": "0_0 0_1 0_2 1_0 | 0_0", "b": ""}, "R2"),
        ({"a": "0_0 0_1 0_2 1_0"}, "format"),
    ],
)
def test_an_impossible_answer_ends_the_convergence(broken: Mapping[str, str], rule: str) -> None:
    assignor = ScriptedAssignor(lambda state: make_answer(broken))
    result = converge(START, assignor)
    assert (result.rebalances, result.stable) == (1, False)
    assert rule in result.violations
    assert len(assignor.seen) == 1


def test_unknown_assignors_are_refused() -> None:
    with pytest.raises(ValueError, match="found 'best'; allowed: "):
        converge(START, "best")


def test_json_has_the_fields_of_the_format_and_is_plain() -> None:
    result = converge(START, ScriptedAssignor(move_towards(TARGET)))
    found = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert set(found) == {measure.name for measure in list_measures(Convergence)} | {"history", "final"}
    assert {"rebalances", "moved_active", "moved_more_than_once", "restored_offsets", "lower_bound", "stable"} < set(found)
    assert len(found["history"]) == 3
    entry = found["history"][0]
    assert entry["waiting"][0] == {"task": "0_1", "process_id": "b", "role": "active", "lag": 600, "slot": False}
    assert entry["warmups"] == 1
    assert entry["moves_repeated"] == 0
    assert set(entry["imbalance"]) == {"active", "stateful_active", "copies", "subtopology_active", "subtopology_copies"}
    assert TaskAssignment.model_validate_json(json.dumps(found["final"])) == result.final


def test_each_step_is_reported() -> None:
    heard: list[tuple[int, PlayedRebalance]] = []
    result = converge(
        START, ScriptedAssignor(move_towards(TARGET)), on_rebalance=lambda number, step: heard.append((number, step))
    )
    assert heard == list(enumerate(result.history, start=1))


# Sums over all rebalances


def play_script(state: ApplicationState, *script: Mapping[str, str]) -> Convergence:
    """Play the answers of the script in turn, and the last one again, to check for rest."""
    answers = iter([make_answer(given) for given in (*script, script[-1])])
    return converge(state, ScriptedAssignor(lambda _: next(answers)))


def test_a_repeated_move_counts_again_for_the_same_task() -> None:
    tasks = {"0_0": 500, "1_0": "stateless", "1_1": "stateless", "1_2": "stateless"}
    state = make_snapshot(tasks, {"a": {"active": "0_0 1_0 1_1 1_2", "lags": {"0_0": -2}}, "b": {}, "c": {}})
    played = play_script(
        state,
        {"a": "1_1 1_2 !", "b": "0_0 1_0", "c": ""},
        {"a": "0_0 1_1 !", "b": "1_2", "c": "1_0"},
        {"a": "0_0 1_1 1_0", "b": "1_2", "c": ""},
    )
    assert [step.moved for step in played.history] == [("0_0", "1_0"), ("0_0", "1_0", "1_2"), ("1_0",)]
    assert [step.moves_repeated for step in played.history] == [0, 2, 1]
    assert (played.moved_active, played.moved_logged) == (6, 2)
    assert (played.moved_more_than_once, played.moves_repeated) == (2, 1 + 2)


def test_an_unowned_task_moves_only_after_its_start() -> None:
    state = make_snapshot({"1_0": "stateless", "1_1": "stateless"}, {"a": {}, "b": {}})
    played = play_script(state, {"a": "1_0 1_1 !", "b": ""}, {"a": "1_0", "b": "1_1"})
    assert [step.moved for step in played.history] == [(), ("1_1",)]
    assert (played.moved_active, played.moved_more_than_once, played.moves_repeated) == (1, 0, 0)


def test_moves_of_the_last_check_do_not_count() -> None:
    state = make_snapshot({"1_0": "stateless"}, {"a": {"active": "1_0"}, "b": {}})
    answers = iter([make_answer({"a": "", "b": "1_0"}), make_answer({"a": "1_0", "b": ""})])
    played = converge(state, ScriptedAssignor(lambda _: next(answers)))
    assert (played.rests, played.moved_active, played.moved_more_than_once) == (False, 1, 0)


# The snapshot after an answer


def get_previous(state: ApplicationState, process_id: str) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, int]]:
    client: KafkaStreamsState = state.kafka_streams_states[process_id]
    return client.previous_active, client.previous_standby, dict(client.lags)


def test_after_restoration_assigned_copies_are_caught_up_and_other_state_is_gone() -> None:
    state = make_snapshot(
        {"0_0": 500, "0_1": 600, "1_0": "stateless"},
        {
            "a": {"active": "0_0 1_0", "lags": {"0_0": -2, "0_1": 40}, "tags": {"zone": "x"}, "x_note": 1},
            "b": {"active": "0_1", "standby": "0_0", "lags": {"0_1": -2, "0_0": 450}},
        },
    )
    given = make_answer({"a": "0_0 || 0_1", "b": "0_1 1_0"})
    after = make_restored_snapshot(state, given)
    assert get_previous(after, "a") == (("0_0",), ("0_1",), {"0_0": RUNNING, "0_1": 0})
    assert get_previous(after, "b") == (("0_1", "1_0"), (), {"0_1": RUNNING})
    assert after.remembered == given
    assert after.kafka_streams_states["a"].tags == {"zone": "x"}
    assert after.kafka_streams_states["a"].model_extra == {"x_note": 1}
    assert make_restored_snapshot(state, given, memory=False).remembered is None
    kept = make_restored_snapshot(state, given, keep_state=True)
    assert get_previous(kept, "b") == (("0_1", "1_0"), ("0_0",), {"0_0": 450 + 11, "0_1": RUNNING})


@pytest.mark.parametrize(("lag", "after"), [(-2, 11), (0, 11), (480, 491), (488, 499), (489, None), (500, None), (-3, None)])
def test_kept_state_is_deleted_if_it_saves_nothing(lag: int, after: int | None) -> None:
    owned = "0_0" if lag == RUNNING else ""
    state = make_snapshot({"0_0": 500}, {"a": {"active": owned, "lags": {"0_0": lag}}, "b": {}})
    kept = make_restored_snapshot(state, make_answer({"a": "", "b": "0_0"}), keep_state=True)
    assert get_previous(kept, "a") == ((), () if after is None else ("0_0",), {} if after is None else {"0_0": after})


def test_changelogs_do_not_shrink_when_lags_disappear() -> None:
    state = make_snapshot({"0_0": None, "1_0": "stateless"}, {"a": {"0_0": 70_000}, "b": {"0_0": 126_000}})
    after = make_restored_snapshot(state, make_answer({"a": "0_0", "b": "1_0"}))
    assert after.full_lags == state.full_lags == {"0_0": 126_001}
    assert after.all_tasks["1_0"].changelog_end_offset is None


def test_consumers_keep_what_they_can() -> None:
    consumers = {"c1": ["1_0"], "c2": ["1_1"]}
    tasks = dict.fromkeys(["1_0", "1_1", "1_2", "1_3"], "stateless")
    state = make_snapshot(tasks, {"a": {"active": "1_0 1_1", "consumers": consumers}, "b": {}})
    after = make_restored_snapshot(state, make_answer({"a": "1_1 1_2", "b": "1_0 1_3"}))
    assert after.kafka_streams_states["a"].consumers == {"c1": ("1_2",), "c2": ("1_1",)}
    assert after.kafka_streams_states["b"].consumers == {}


GROWING = make_snapshot(
    {"0_0": 1_000, "0_1": 3_000, "0_2": None, "1_0": "stateless"},
    {"a": {"active": "0_0 0_1 1_0", "lags": {"0_0": -2, "0_1": -2, "0_2": 2_000}}, "b": {"0_0": 100}},
    acceptable_recovery_lag=250,
)
"""The whole changelogs have 1,000, 3,000 and 2,001 offsets; their mean is 2,000⅓."""


@pytest.mark.parametrize("seed", range(20))
def test_changelogs_grow_equally_in_each_step_and_standbys_lag_a_little(seed: int) -> None:
    growth, given, ends, behind = Growth(GROWING, 0.5, seed), make_answer({"a": "0_0 1_0 | 0_1 | 0_2", "b": "0_1 0_2"}), [], []
    state = GROWING
    for _ in range(3):
        state = make_restored_snapshot(state, given, growth=growth)
        ends.append(state.full_lags)
        assert state.all_tasks["1_0"].changelog_end_offset is None
        assert state.kafka_streams_states["b"].lags == {"0_1": RUNNING, "0_2": RUNNING}
        behind.append({task: lag for task, lag in state.kafka_streams_states["a"].lags.items() if lag != RUNNING})
    grown = {task: ends[0][task] - end for task, end in GROWING.full_lags.items()}
    assert all(0 <= more <= 1_000 for more in grown.values()), f"{seed=}: {grown}"
    assert ends[2] == {task: end + 3 * grown[task] for task, end in GROWING.full_lags.items()}
    for lags in behind:
        assert set(lags) == {"0_1", "0_2"}
        assert all(0 <= lag <= min(grown[task], 250) for task, lag in lags.items()), f"{seed=}: {grown} {behind}"
    again = make_restored_snapshot(GROWING, given, growth=Growth(GROWING, 0.5, seed))
    assert again.full_lags == ends[0]


def test_growth_and_lags_take_every_allowed_value() -> None:
    grown, behind = set(), set()
    for seed in range(2_000):
        growth = Growth(GROWING, 0.005, seed)  # grows by 0 to 10 offsets
        state = make_restored_snapshot(GROWING, make_answer({"a": "0_0 1_0 | 0_1", "b": "0_1 0_2"}), growth=growth)
        more = state.full_lags["0_1"] - 3_000
        grown.add(more)
        behind.add((more, state.kafka_streams_states["a"].lags["0_1"]))
    assert grown == set(range(11))
    assert {lag for more, lag in behind if more == 10} == set(range(11))


def test_kept_state_falls_behind_by_what_is_written_too() -> None:
    growth = Growth(GROWING, 0.5, 1)
    after = make_restored_snapshot(GROWING, make_answer({"a": "0_0 0_1 1_0", "b": "0_2"}), keep_state=True, growth=growth)
    written = after.full_lags["0_0"] - 1_000
    assert written > 0
    assert after.kafka_streams_states["b"].lags == {"0_0": 100 + 1_000 // 50 + 1 + written, "0_2": RUNNING}


def test_no_changelog_grows_beyond_what_its_format_holds() -> None:
    most = 2**63 - 1
    state = make_snapshot({"0_0": most - 5, "0_1": 7}, {"a": {"active": "0_0 0_1"}, "b": {}})
    after = make_restored_snapshot(state, make_answer({"a": "0_0", "b": "0_1"}), growth=Growth(state, 1.0, 3))
    assert after.full_lags["0_0"] == most
    assert 7 <= after.full_lags["0_1"] <= most


def test_a_seed_fixes_growth() -> None:
    def play(**how: float) -> list[int]:
        return [step.restored_offsets for step in converge(START, ScriptedAssignor(move_towards(TARGET)), **how).history]  # type: ignore[arg-type]

    assert play() == play(growth=0.0, seed=5) == [600, 700, 0]
    assert play(growth=0.1, seed=5) == play(growth=0.1, seed=5)
    assert len({tuple(play(growth=0.1, seed=seed)) for seed in range(5)}) > 1
    for share in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="growth: found"):
            play(growth=share)


MOVING = make_snapshot(
    {"0_0": 500, "0_1": 500, "1_0": 500, "1_1": 500, "2_0": "stateless"},
    {
        "a": {"active": "0_0 0_1 2_0", "lags": {"0_0": -2, "0_1": -2}},
        "b": {"standby": "0_0", "lags": {"0_0": 7}},
        "c": {"1_0": 9, "1_1": 400},
    },
    num_standby_replicas=1,
)
FIRST = make_answer({"a": "0_1 | 0_0", "b": "0_0 2_0 | 1_0 | 0_1", "c": "1_0 1_1 | 0_1"})


def test_in_the_second_pass_moving_tasks_have_no_owner() -> None:
    second = make_second_pass_snapshot(MOVING, FIRST)
    assert get_previous(second, "a") == (("0_1",), ("0_0",), {"0_0": 0, "0_1": RUNNING})
    assert get_previous(second, "b") == ((), ("0_0", "0_1", "1_0"), {"0_0": 7})
    # No client owned 1_0 and 1_1: the new owner has both at once, and runs the task that is caught up.
    assert get_previous(second, "c") == (("1_0", "1_1"), ("0_1",), {"1_0": RUNNING, "1_1": 400})
    assert second.remembered == FIRST
    before = previous_assignment(second)
    assert before.in_transit == {"0_0", "2_0"}
    assert (before.active["0_0"], before.active["2_0"]) == ("b", "b")


def test_in_the_second_pass_the_old_owner_may_have_lost_its_state() -> None:
    second = make_second_pass_snapshot(MOVING, FIRST, memory=False, state_survives=False)
    assert get_previous(second, "a") == (("0_1",), (), {"0_1": RUNNING})
    assert second.remembered is None


def test_a_second_pass_with_tasks_in_transit_keeps_the_rules() -> None:
    state = make_snapshot(
        {"0_0": 500, "0_1": 500},
        {"a": {"active": "0_0 0_1", "lags": {"0_0": -2, "0_1": -2}}, "b": {"standby": "0_0", "lags": {"0_0": 7}}},
    )
    first = make_answer({"a": "0_1", "b": "0_0"})
    assert validate(state, first) == []
    for second in (make_second_pass_snapshot(state, first), make_second_pass_snapshot(state, first, state_survives=False)):
        assert validate(second, first) == []
        assert measure(second, first).active_moves == 0


# Tests with real assignors

SOME = [spec for _, spec in GRID if spec.clients <= 10 and spec.seed % 7 == 0]
"""Groups for tests of each assignor; of 100 tasks in the second ring only."""


def make_parameter(spec: Spec) -> ParameterSet:
    return pytest.param(spec, id=spec.name, marks=[pytest.mark.long] if spec.tasks >= 100 else [])


@pytest.mark.parametrize("assignor", ["greedy", "cp-sat"])
@pytest.mark.parametrize("spec", [make_parameter(spec) for spec in SOME])
def test_groups_settle_and_rest(spec: Spec, assignor: str) -> None:
    result: Convergence = converge(spec.generate(), assignor)
    assert result.stable, f"{spec}\n{result}"
    assert result.violations == {}, f"{spec}\n{result}"
    if result.lower_bound is not None:
        assert result.restored_offsets >= result.lower_bound, f"{spec}\n{result}"


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "without"])
@pytest.mark.parametrize("assignor", ["greedy", "cp-sat"])
@pytest.mark.parametrize("spec", [make_parameter(spec) for spec in SOME[::2]])
def test_groups_settle_and_rest_while_changelogs_grow(spec: Spec, assignor: str, memory: bool) -> None:
    result = converge(spec.generate(), assignor, growth=0.02, seed=spec.seed, memory=memory)
    assert result.stable, f"{spec}\n{result}"
    assert result.violations == {}, f"{spec}\n{result}"


def test_quiet_hours_end_and_a_new_target_is_made_once() -> None:
    options = {"hold": "quiet_hours", "hold_ends_ms": 60_000, "forget_plan": True}
    state = generate("scale-out", 24, 4, 1, seed=1)
    result = converge(state.model_copy(update={"options": state.options.model_copy(update=options)}), "cp-sat")
    assert result.stable, str(result)
    assert result.history[-1].measures.balanced
    assert not make_restored_snapshot(state, result.final).options.forget_plan

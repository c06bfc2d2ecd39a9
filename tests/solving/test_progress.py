"""Tests of R11: a group that does not change reaches its plan and rests there; copies without progress block no others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from functools import cache

import pytest
from judging import make_answer, make_snapshot
from seeds import take_few

from optassign.assignor import assign
from optassign.formats.assignment import TargetAssignment, TaskAssignment, restore_work_bound
from optassign.formats.state import ApplicationState
from optassign.generating import SHAPES, Shape, generate
from optassign.judging.validation import validate
from optassign.measuring.moves import find_moved_actives
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks
from optassign.simulation.convergence import converge
from optassign.simulation.successors import make_restored_snapshot

both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])

# ----------------------------------------------------------------------------------------- warm-ups with and without progress


def after(state: ApplicationState, given: TaskAssignment, lags: Mapping[str, Mapping[str, int]]) -> ApplicationState:
    """Return the next snapshot, with all copies restored except those in `lags` (client → task → lag)."""
    following = make_restored_snapshot(state, given)
    clients = [
        client.model_copy(update={"lags": {**client.lags, **lags.get(client.process_id, {})}}) for client in following.clients
    ]
    return following.model_copy(update={"clients": clients})


def joined(slots: int = 1) -> ApplicationState:
    """Return a group in which a and b run three tasks each, and each gives one to the empty c, over `slots` warm-up slots."""
    clients = {
        "a": {"active": "0_0 0_1 0_2", "lags": dict.fromkeys(("0_0", "0_1", "0_2"), -2)},
        "b": {"active": "0_3 0_4 0_5", "lags": dict.fromkeys(("0_3", "0_4", "0_5"), -2)},
        "c": {},
    }
    ends = {"0_0": 300, "0_1": 300, "0_2": 200, "0_3": 300, "0_4": 300, "0_5": 250}
    return make_snapshot(ends, clients, max_warmup_replicas=slots)


def warmups(given: TaskAssignment) -> dict[str, tuple[str, ...]]:
    return {client.process_id: client.warmup for client in given.clients if client.warmup}


def asked(given: TaskAssignment) -> bool:
    return any(client.followup_rebalance_ms is not None for client in given.clients)


@both
def test_a_warmup_keeps_its_slot_while_its_lag_falls(assignor: str) -> None:
    state = joined()
    given = assign(state, assignor)
    assert warmups(given) == {"c": ("0_2",)}, "the least lag first"
    for lag in (199, 150, 149, 60, 59, 58):
        state = after(state, given, {"c": {"0_2": lag}})
        given = assign(state, assignor)
        assert warmups(given) == {"c": ("0_2",)}, f"at lag {lag}"
        assert (asked(given), given.report.stalled) == (True, False)
    state = after(state, given, {"c": {"0_2": 10}})  # within the acceptable lag: it moves, and the next copy gets the slot
    given = assign(state, assignor)
    assert "0_2" in given.by_process_id["c"].active
    assert warmups(given) == {"c": ("0_5",)}


@both
def test_a_warmup_keeps_its_slot_from_a_copy_with_more_to_lose(assignor: str) -> None:
    """A directory of 0_5 appears on c, nearly complete."""
    state = joined()
    given = assign(state, assignor)
    assert warmups(given) == {"c": ("0_2",)}
    state = after(state, given, {"c": {"0_2": 199, "0_5": 50}})
    assert warmups(assign(state, assignor)) == {"c": ("0_2",)}
    fresh = state.model_copy(update={"remembered": None})
    assert warmups(assign(fresh, assignor)) == {"c": ("0_5",)}, "without memory of what is under way"


@both
def test_a_stalled_warmup_goes_to_the_end_of_the_queue(assignor: str) -> None:
    state = joined()
    given = assign(state, assignor)
    for turn in range(3):
        assert warmups(given) == {"c": ("0_2",)}, f"after {turn} answers without progress"
        state = after(state, given, {"c": {"0_2": 200}})
        given = assign(state, assignor)
    assert warmups(given) == {"c": ("0_5",)}, "after three the other one has its turn"
    assert (asked(given), given.report.stalled) == (True, False)
    idle = {entry.task: entry.answers_without_progress for entry in given.report.warmup_progress}
    assert idle["0_2"] >= 3
    # Once 0_5 is restored, 0_2 gets the slot again, since no other copy waits for it …
    state = after(state, given, {"c": {"0_2": 200}})
    given = assign(state, assignor)
    assert "0_5" in given.by_process_id["c"].active
    assert warmups(given) == {"c": ("0_2",)}
    assert (asked(given), given.report.stalled) == (False, True), "… but to wait for it is no use"


@both
def test_progress_restarts_the_count(assignor: str) -> None:
    state = joined()
    given = assign(state, assignor)
    for lag in (200, 200, 199, 199, 199, 198, 198):
        state = after(state, given, {"c": {"0_2": lag}})
        given = assign(state, assignor)
        assert warmups(given) == {"c": ("0_2",)}, f"at lag {lag}"


@both
@pytest.mark.parametrize("slots", [1, 2])
def test_probing_ends_with_a_report_if_no_copy_makes_progress(assignor: str, slots: int) -> None:
    state = joined(slots)
    given = assign(state, assignor)
    seen: list[dict[str, tuple[str, ...]]] = []
    for _ in range(12):
        seen.append(warmups(given))
        if not asked(given):
            break
        state = after(state, given, {"c": {"0_2": 200, "0_5": 250}})
        given = assign(state, assignor)
    assert (asked(given), given.report.stalled) == (False, True), seen
    assert len(seen) <= 3 * (2 // slots) + 2, seen
    assert {task for step in seen for tasks in step.values() for task in tasks} == {"0_2", "0_5"}, "each had its turn"
    assert validate(state, given) == []
    # A rebalance for another reason finds progress of a copy: probing begins again.
    state = after(state, given, {"c": {"0_2": 120, "0_5": 250}})
    given = assign(state, assignor)
    assert (asked(given), given.report.stalled) == (True, False)
    assert "0_2" in warmups(given)["c"]


@both
def test_a_stalled_standby_ends_probing(assignor: str) -> None:
    """In KIP-441's scaling in, pt. 2, b's standbys are restored and c's are not."""
    clients = {
        "b": {"active": "0_1", "standby": "0_0 0_3", "lags": {"0_1": -2, "0_0": 20, "0_3": 20}},
        "c": {"active": "0_2", "standby": "0_1", "lags": {"0_2": -2, "0_1": 20}},
    }
    state = make_snapshot(dict.fromkeys(("0_0", "0_1", "0_2", "0_3"), 100), clients, num_standby_replicas=1)
    given = assign(state, assignor)
    assert len(given.by_process_id["b"].active) == 3
    for _ in range(4):  # the first lags of 20 have fallen from 100
        assert (asked(given), given.report.stalled) == (True, False)
        state = after(state, given, {"b": {"0_2": 0}, "c": dict.fromkeys(("0_0", "0_1", "0_3"), 20)})
        given = assign(state, assignor)
    assert (asked(given), given.report.stalled) == (False, True)
    assert given.plan is not None


# ---------------------------------------------------------------------------------------------------- the plan is remembered


def planned(given: TaskAssignment) -> dict[str, tuple[str, ...]]:
    return {client.process_id: client.active for client in given.plan or ()}


def remembering(state: ApplicationState, plan: dict[str, str]) -> ApplicationState:
    now = make_answer({client.process_id: " ".join(client.previous_active) for client in state.clients}, plan)
    return state.model_copy(update={"remembered": now})


@both
@pytest.mark.parametrize("leaving", ["0_0", "0_1", "0_2"])
def test_the_remembered_plan_stays_among_equal_ones(assignor: str, leaving: str) -> None:
    """Two empty clients have joined; a gives up two of its three equal tasks."""
    lags = dict.fromkeys(("0_0", "0_1", "0_2"), -2)
    state = make_snapshot(dict.fromkeys(lags, 100), {"a": {"active": list(lags), "lags": lags}, "b": {}, "c": {}})
    stays, other = (task for task in lags if task != leaving)
    for plan in ({"a": stays, "b": leaving, "c": other}, {"a": stays, "b": other, "c": leaving}):
        given = assign(remembering(state, plan), assignor)
        assert planned(given) == {client: (task,) for client, task in plan.items()}
        assert given.report.found_by == "remembered"


@both
@pytest.mark.parametrize("goal", ["restore work", "copies not caught up"])
def test_a_strictly_better_plan_replaces_the_remembered_one(assignor: str, goal: str) -> None:
    lags = dict.fromkeys(("0_0", "0_1", "0_2"), -2)
    others: dict[str, dict[str, int]] = {"b": {}, "c": {}}
    plan = {"a": "0_0", "b": "0_1", "c": "0_2"}
    if goal == "restore work":
        others["b"] = {"0_2": 60}  # b now has a part of 0_2
    else:
        others["c"] = {"0_1": 10}
    state = make_snapshot(dict.fromkeys(lags, 100), {"a": {"active": list(lags), "lags": lags}, **others})
    given = assign(remembering(state, plan), assignor)
    assert planned(given) != {client: (task,) for client, task in plan.items()}
    assert planned(given)["c"] == ("0_1",)


@both
@pytest.mark.parametrize(("part", "stays"), [(999, True), (970, True), (950, False)])
def test_a_slightly_better_plan_does_not_replace_the_remembered_one(assignor: str, part: int, stays: bool) -> None:
    """Two tasks of 1,000 offsets leave a; b now has a part of the task planned for c, so a swapped target restores less."""
    lags = dict.fromkeys(("0_0", "0_1", "0_2"), -2)
    clients = {"a": {"active": list(lags), "lags": lags}, "b": {"lags": {"0_2": part}}, "c": {}}
    plan = {"a": "0_0", "b": "0_1", "c": "0_2"}
    given = assign(remembering(make_snapshot(dict.fromkeys(lags, 1000), clients), plan), assignor)
    assert (planned(given) == {client: (task,) for client, task in plan.items()}) == stays


@both
def test_fewer_moves_do_not_replace_the_remembered_plan(assignor: str) -> None:
    """Both a and c own 0_2: a target with 0_2 on c moves one task less, but would flip back with the next lag."""
    lags = dict.fromkeys(("0_0", "0_1", "0_2"), -2)
    clients = {"a": {"active": list(lags), "lags": lags}, "b": {"lags": {"0_0": 100}}, "c": {"active": ["0_2"]}}
    plan = {"a": "0_0", "b": "0_2", "c": "0_1"}
    given = assign(remembering(make_snapshot(dict.fromkeys(lags, 100), clients), plan), assignor)
    assert planned(given) == {client: (task,) for client, task in plan.items()}


@both
@pytest.mark.parametrize(
    "plan",
    [{"a": "0_0", "b": "0_1"}, {"a": "0_0", "b": "0_1", "gone": "0_2"}, {"a": "0_0 0_1", "b": "0_2", "c": ""}],
    ids=["a task is missing", "a client has gone", "not balanced"],
)
def test_an_invalid_plan_is_forgotten(assignor: str, plan: dict[str, str]) -> None:
    lags = dict.fromkeys(("0_0", "0_1", "0_2"), -2)
    state = make_snapshot(dict.fromkeys(lags, 100), {"a": {"active": list(lags), "lags": lags}, "b": {}, "c": {}})
    given = assign(remembering(state, plan), assignor)
    assert sorted(map(len, planned(given).values())) == [1, 1, 1]
    assert given.report.found_by != "remembered"


# ------------------------------------------------------------------------------------------------------------- convergence

SETTLED_BEFORE = ("cold", "steady", "scale-out", "scale-in")


@cache
def case(shape: Shape, standbys: int, mixed: bool) -> ApplicationState:
    seed = SHAPES.index(shape) + 10 * standbys
    return generate(shape, tasks=24, clients=4, standbys=standbys, threads=(1, 4) if mixed else 1, seed=seed, memory=True)


@cache
def least_work(state_key: tuple[Shape, int, bool], memory: bool) -> int:
    """Return the least offsets that any convergence restores, proven by cp-sat."""
    state = case(*state_key)
    given = assign(state if memory else state.model_copy(update={"remembered": None}))
    bound = restore_work_bound(given)
    return 0 if bound is None and given.report.termination.reason == "rest" else bound or 0


def to_warm_up(state: ApplicationState, given: TaskAssignment) -> int:
    """Return the number of the plan's copies that are not caught up and not standbys in the answer: each needs a slot."""
    ranked = Ranks(state)
    standbys = {(task, client.process_id) for client in given.clients for task in client.standby}
    plan: tuple[TargetAssignment, ...] = given.plan or ()
    pairs = {(task, client.process_id) for client in plan for task in (*client.active, *client.standby)}
    return sum(ranked.of(*pair) > 0 for pair in pairs - standbys)


@both
@pytest.mark.parametrize(
    ("memory", "keep_state"),
    [
        pytest.param(True, False, id="memory-deleted"),
        pytest.param(False, True, id="no memory-kept"),
        pytest.param(True, True, id="memory-kept", marks=pytest.mark.long),
        pytest.param(False, False, id="no memory-deleted", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("mixed", take_few([True, False], 1), ids=["mixed threads", "alike"])
@pytest.mark.parametrize("standbys", take_few([1, 0, 2, 3], 2))
@pytest.mark.parametrize("shape", SHAPES)
def test_a_group_settles_balanced_and_rests(
    shape: Shape, standbys: int, mixed: bool, memory: bool, keep_state: bool, assignor: str
) -> None:
    state = case(shape, standbys, mixed)
    if not memory:
        state = state.model_copy(update={"remembered": None})
    first = assign(state, assignor)
    result = converge(state, assignor, memory=memory, keep_state=keep_state)
    history = f"\n{result}"
    assert (result.settled, result.rests) == (True, True), history
    assert result.history[-1].measures.balanced, history
    assert result.violations == {}, history
    slots = math.ceil(to_warm_up(state, first) / state.configs.max_warmup_replicas)
    assert result.rebalances <= 2 + slots, f"{slots} slots in turn{history}"
    least = least_work((shape, standbys, mixed), memory)
    assert result.restored_offsets >= least, f"less than the bound {least}{history}"
    if shape in SETTLED_BEFORE:
        assert result.restored_offsets <= (least if assignor == "cp-sat" else 1.1 * least), history


@both
@pytest.mark.parametrize("standbys", [1, *take_few([0, 2], 0)])
@pytest.mark.parametrize("shape", take_few(["scale-out", "restart", "cold", "scale-in"], 2))
def test_a_group_with_pooled_clients_settles_balanced_and_rests(shape: Shape, standbys: int, assignor: str) -> None:
    """The group has more pairs of task and client than are written out."""
    state = generate(shape, 450, 50, standbys, warmups=20, threads=(1, 3), unlogged=0.1, tiny=0.05, seed=1, memory=True)
    result = converge(state, assignor)
    assert (result.settled, result.rests, result.violations) == (True, True, {}), f"\n{result}"
    assert result.history[-1].measures.balanced, f"\n{result}"
    if assignor == "cp-sat":
        assert result.restored_offsets == result.lower_bound, f"\n{result}"


@both
@pytest.mark.parametrize("seed", take_few(range(3), 1))
@pytest.mark.parametrize("standbys", [0, 1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("shape", ["scale-out", "scale-in", "restart"])
def test_no_task_moves_twice(shape: Shape, standbys: int, seed: int, assignor: str) -> None:
    """A task moves from its owner to its planned active client only."""
    state = generate(shape, 60, 6, standbys, warmups=4, threads=(1, 3) if seed % 2 else 1, seed=seed, memory=True)
    moves: list[tuple[str, ...]] = []
    for _ in range(40):
        given = assign(state, assignor)
        moves.append(tuple(find_moved_actives(state, TaskPlacement.of(state, given))))
        if not asked(given):
            break
        state = make_restored_snapshot(state, given)
    assert not asked(given), moves
    twice = [task for task, times in Counter(task for step in moves for task in step).items() if times > 1]
    assert twice == [], moves

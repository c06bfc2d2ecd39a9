"""Tests of R7, a group at rest is not altered, and of R8: when a follow-up is due, by which client, and after which delay.

KIP-441: "if the current assignment is already balanced, it must not alter the assignment"; once balanced, probing stops.
"""

from __future__ import annotations

from typing import Any

import pytest
from enumeration import Tiny
from judging import make_answer, make_snapshot
from tiny import draw_tiny_state
from tiny_placements import to_copies

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.judging.metrics import measure
from optassign.judging.validation import validate
from optassign.measuring.placement import TaskPlacement
from optassign.simulation.successors import make_restored_snapshot

both = pytest.mark.parametrize("assignor", ["cp-sat", "greedy"])

TASKS: dict[str, Any] = {"0_0": 100, "0_1": 100, "0_2": 100, "1_0": "stateless", "1_1": "stateless", "1_2": "stateless"}
CLIENTS: dict[str, dict[str, Any]] = {  # balanced, but not the answer of a cold start
    "a": {"active": "0_2 1_1", "standby": "0_0", "lags": {"0_2": -2, "0_0": 0}},
    "b": {"active": "0_0 1_2", "standby": "0_1", "lags": {"0_0": -2, "0_1": 0}},
    "c": {"active": "0_1 1_0", "standby": "0_2", "lags": {"0_1": -2, "0_2": 0}},
}
UNCHANGED = {"a": "0_2 1_1 | 0_0", "b": "0_0 1_2 | 0_1", "c": "0_1 1_0 | 0_2"}


def settled(
    changes: dict[str, dict[str, Any]] | None = None,
    *,
    tasks: dict[str, Any] | None = None,
    memory: dict[str, str] | None = None,
    gone: str = "",
    **more: Any,
) -> ApplicationState:
    clients = {p: {**fields, **(changes or {}).get(p, {})} for p, fields in CLIENTS.items() if p != gone}
    clients |= {p: fields for p, fields in (changes or {}).items() if p not in CLIENTS}
    remembered = None if memory is None else make_answer(memory)
    return make_snapshot({**TASKS, **(tasks or {})}, clients, remembered=remembered, **{"num_standby_replicas": 1, **more})


def copies(given: TaskAssignment) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [(client.process_id, client.active, client.standby) for client in given.clients]


def followups(given: TaskAssignment) -> dict[str, int]:
    return {c.process_id: c.followup_rebalance_ms for c in given.clients if c.followup_rebalance_ms is not None}


def warmups(given: TaskAssignment) -> list[str]:
    return [task for client in given.clients for task in client.warmup]


# ---------------------------------------------------------------------------------------------------------------------- rest

COLD_STANDBY = {"c": {"lags": {"0_1": -2, "0_2": 60}}}
DROPPED = {"c": {"standby": "0_0 0_2", "lags": {"0_1": -2, "0_2": 0, "0_0": 5}}}
DROPPED_AS_NEAR = {"c": {"standby": "0_0 0_2", "lags": {"0_1": -2, "0_2": 0, "0_0": 0}}}
TWO_OWNERS = {"c": {"active": "0_1 0_2 1_0", "standby": "", "lags": {"0_1": -2, "0_2": -2}}}
EMPTY_AND_DRAINING = {"d": {"draining": True}}
LISTED = {"c": {"active": "", "standby": "0_1 0_2", "lags": {"0_1": 0, "0_2": 0}}}


@both
@pytest.mark.parametrize(
    "state",
    [
        settled(),
        settled(memory=UNCHANGED),
        settled(COLD_STANDBY),
        settled(DROPPED),
        settled(DROPPED, memory=UNCHANGED),
        settled(DROPPED_AS_NEAR, memory=UNCHANGED),
        settled(TWO_OWNERS, memory=UNCHANGED),
        settled(EMPTY_AND_DRAINING, memory={**UNCHANGED, "d": ""}),
        settled(LISTED, memory=UNCHANGED),
        settled(acceptable_recovery_lag=2**63 - 1),
        settled({"a": {"lags": {"0_2": -2, "0_0": 10}}}),
        settled(memory={"a": "0_2 1_1 | 0_0 | 0_1!", "b": "0_0 1_2 | 0_1", "c": "0_1 1_0 | 0_2"}),
    ],
    ids=[
        "without memory",
        "with memory",
        "a standby lags, and nobody lags less",
        "a dropped copy is on a disk",
        "a dropped copy, and memory",
        "a dropped copy as near as the standby",
        "two owners",
        "an empty client drains",
        "tasks in transit",
        "all clients are caught up",
        "a lag just acceptable",
        "memory had a warm-up and asked for a follow-up",
    ],
)
def test_a_group_at_rest_is_not_altered(assignor: str, state: ApplicationState) -> None:
    given = assign(state, assignor)
    want = make_answer({**UNCHANGED, **({"d": ""} if len(state.clients) == 4 else {})})
    assert copies(given) == copies(want)
    assert (warmups(given), followups(given), given.plan) == ([], {}, None)
    assert (given.report.balanced, given.report.stalled, given.report.waiting) == (True, False, ())
    assert validate(state, given) == []


@both
@pytest.mark.parametrize(("factor", "rests"), [(1, False), (3, True)])
def test_wider_shares_let_more_groups_rest(assignor: str, factor: int, rests: bool) -> None:
    """A client with two of four threads has a share of 3 of 6 tasks; balance_factor 3 allows 2 to 4."""
    state = settled({"a": {"threads": 2}}, num_standby_replicas=0, options={"balance_factor": factor})
    given = assign(state, assignor)
    assert (given.report.termination.reason == "rest") == rests
    assert ([len(client.active) for client in given.clients] == [2, 2, 2]) == rests


@both
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("standbys", [0, 1, 2])
@pytest.mark.parametrize("threads", [1, (1, 4)], ids=str)
def test_a_settled_group_rests(assignor: str, seed: int, standbys: int, threads: int | tuple[int, int]) -> None:
    state = generate("steady", tasks=30, clients=5, standbys=standbys, threads=threads, seed=seed, memory=True)
    first = assign(state, assignor)
    assert first.report.termination.reason == "rest"
    assert {c.process_id: c.active for c in first.clients} == {c.process_id: c.previous_active for c in state.clients}
    assert (warmups(first), followups(first), first.plan) == ([], {}, None)
    assert copies(assign(make_restored_snapshot(state, first), assignor)) == copies(first)


@both
@pytest.mark.parametrize(
    ("state", "check"),
    [
        (settled({"b": {"draining": True}}), lambda now: now["b"][0] == ()),
        (settled({"b": {"lags": {"0_0": 50, "0_1": 0}}}), lambda now: "0_0" in now["a"][0]),
        (settled({"c": {"lags": {"0_1": -2, "0_2": 60}}, "d": {"lags": {"0_2": 30}}}), lambda now: "0_2" in now["d"][1]),
        (settled(num_standby_replicas=2), lambda now: all(len(standby) == 2 for _, standby in now.values())),
        (settled(num_standby_replicas=0, memory=UNCHANGED), lambda now: all(standby == () for _, standby in now.values())),
        (settled(tasks={"1_3": "stateless"}), lambda now: sum("1_3" in active for active, _ in now.values()) == 1),
        (settled({"a": {"threads": 4}}), lambda now: len(now["a"][0]) > 2),
        (settled({"d": {}}), lambda now: len(now["d"][0]) == 1),
        (settled(gone="c"), lambda now: sum(len(active) for active, _ in now.values()) == 6),
        (settled({"a": {"active": "0_2 1_1 1_2"}, "b": {"active": "0_0"}}), lambda now: len(now["b"][0]) == 2),
    ],
    ids=[
        "a client with tasks drains",
        "an active has fallen behind",
        "a standby is not the next most caught up",
        "one standby more is asked for",
        "no standbys are asked for",
        "a task is new",
        "a client has grown",
        "a client is new",
        "a client has gone",
        "stateless tasks are not balanced",
    ],
)
def test_a_group_that_is_not_at_rest_is_altered(assignor: str, state: ApplicationState, check: Any) -> None:
    given = assign(state, assignor)
    assert check({client.process_id: (client.active, client.standby) for client in given.clients}), copies(given)
    assert given.report.termination.reason != "rest"
    assert validate(state, given) == []


# ------------------------------------------------------------------------------------------------------------------ follow-up

UNKNOWN = {"a": {"lags": {"0_2": -2, "0_0": -3}}}
UNBALANCED: dict[str, dict[str, Any]] = {"new": {}}  # client `new` needs a warm-up before it may lead a logged task


@both
@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (settled(), {}),
        (settled(UNKNOWN), {"a": 600_000}),
        (settled(UNKNOWN, probing_rebalance_interval_ms=60_000), {"a": 60_000}),
        (settled(UNKNOWN, memory=UNCHANGED), {"a": 600_000}),
        (settled({**UNKNOWN, "0": {"draining": True}}, memory={"0": "", **UNCHANGED}), {"a": 600_000}),
        (settled({**UNBALANCED, "0": {"draining": True}}), {"a": 600_000}),
        (settled({**UNBALANCED, "0": {}}, probing_rebalance_interval_ms=2**63 - 1), {"0": 2**63 - 1}),
        (settled({p: {"draining": True, **UNKNOWN.get(p, {})} for p in "abc"}), {"a": 600_000}),
        (settled({"b": {"active": "0_0 1_2 1_1"}, "a": {"active": "0_2"}}), {}),
    ],
    ids=[
        "at rest: nobody",
        "a lag is not known: the least id",
        "after the probing interval",
        "balanced, and a lag is not known",
        "the least id drains",
        "not balanced, the least id drains",
        "not balanced, the longest delay",
        "all drain: the least of them",
        "balanced at once: nobody",
    ],
)
def test_the_followup_has_this_client_and_delay(assignor: str, state: ApplicationState, expected: dict[str, int]) -> None:
    assert followups(assign(state, assignor)) == expected


@pytest.mark.parametrize("seed", range(150))
def test_a_followup_is_requested_iff_it_can_help(seed: int) -> None:
    """In tiny snapshots without goals (a), a follow-up is due if the answer is not balanced or a lag is unknown."""
    state = draw_tiny_state(seed)
    unknown = any(-3 in client.lags.values() for client in state.clients)
    for assignor in ("cp-sat", "greedy"):
        given = assign(state, assignor)
        balanced = measure(state, given).balanced
        assert bool(followups(given)) == (unknown or not balanced), (assignor, balanced, unknown)
        assert not (balanced and warmups(given))
        assert (given.plan is None) == balanced
        if given.plan is not None:
            assert Tiny(state).is_balanced(to_copies(TaskPlacement.of(state, given.plan)))


@both
def test_after_the_last_step_probing_stops(assignor: str) -> None:
    state = generate("scale-out", tasks=24, clients=4, standbys=1, seed=3)
    for _ in range(40):
        given = assign(state, assignor)
        assert bool(followups(given)) == (not measure(state, given).balanced)
        if not followups(given):
            break
        state = make_restored_snapshot(state, given)
    assert measure(state, given).balanced
    assert warmups(given) == []


@both
def test_a_broken_memory_with_repeated_standbys_breaks_no_rule(assignor: str) -> None:
    """With each standby listed twice, the numbers of copies in memory fit, though half of the copies are missing."""
    tasks = {f"0_{number}": 1_000_000 for number in range(4)}
    clients = {
        name: {"active": f"0_{number}", "lags": {task: -2 if task == f"0_{number}" else 0 for task in tasks}}
        for number, name in enumerate("abcd")
    }
    memory = make_answer(
        {name: f"0_{number} | 0_{(number - 1) % 4} 0_{(number - 1) % 4}" for number, name in enumerate("abcd")}
    )
    state = make_snapshot(tasks, clients, remembered=memory, num_standby_replicas=2)
    assert not validate(state, assign(state, assignor))


@both
def test_the_follow_up_after_an_endless_pause_fits_into_its_format(assignor: str) -> None:
    options = {"hold": "paused", "hold_ends_ms": 2**63 - 1, "idle_followup_ms": 600_000}
    answer = assign(settled(memory=UNCHANGED, options=options), assignor)
    assert TaskAssignment.model_validate_json(answer.model_dump_json()) == answer


@both
def test_a_client_may_have_as_many_threads_as_its_format_allows(assignor: str) -> None:
    """With loads, only the fastest threads count, at most one for each task."""
    weights = {"task_weights": {"0_0": 2.0}}
    clients = {"a": {"threads": 2**31 - 1}, "b": {"threads": 1}}
    state = make_snapshot({"0_0": "stateless", "0_1": "stateless"}, clients, options=weights)
    assert measure(state, assign(state, assignor)).balanced

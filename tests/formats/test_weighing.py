"""Tests of the sources of task weights: given by task, by name, by changelog, or by rates between snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from optassign.assignor import assign
from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import validate

HOUR = 3_600_000


def snapshot(
    options: Mapping[str, Any],
    ends: Mapping[str, int] | None = None,
    *,
    at: str | None = "2026-11-20T12:00:00Z",
    remembered: TaskAssignment | None = None,
    changelogs: Mapping[str, int] | None = None,
    balanced: bool = False,
) -> ApplicationState:
    """Return a snapshot: four tasks of two subtopologies, two clients. `ends`: of sources. `balanced`: each client owns two."""
    tasks: list[dict[str, Any]] = []
    for task in ("0_0", "0_1", "0_2", "1_0"):
        tasks.append({"id": task, "stateful": task[0] == "0"})
        if ends and task in ends:
            tasks[-1]["source_end_offset"] = ends[task]
        if changelogs and task in changelogs:
            tasks[-1]["changelog_end_offset"] = changelogs[task]
    clients: list[dict[str, Any]] = [{"process_id": name, "threads": 2} for name in "ab"]
    for client, running in zip(clients, (("0_0", "0_1"), ("0_2", "1_0")) if balanced else (), strict=False):
        client |= {"previous_active": running, "lags": {task: -2 for task in running if task[0] == "0"}}
    return ApplicationState.model_validate(
        {
            "format": 1,
            "taken_at": at,
            "configs": {},
            "options": options,
            "tasks": tasks,
            "clients": clients,
            "remembered": remembered,
        }
    )


def list_weights(state: ApplicationState) -> list[float]:
    return [task.weight for task in state.tasks]


def note_of(state: ApplicationState) -> list[str]:
    return [note for note in assign(state).report.notes if note.startswith("weights")]


def test_a_name_weighs_a_task_or_a_subtopology() -> None:
    state = snapshot({"task_weights": {"0": 2.5, "0_1": 4}})
    assert list_weights(state) == [2.5, 4.0, 2.5, 1.0]
    assert not note_of(state)
    assert note_of(snapshot({"task_weights": {"7": 2, "0_9": 4}})) == ["weights not used: no task or subtopology 0_9, 7"]


@pytest.mark.parametrize("weight", [0, -1, 1e10])
def test_an_invalid_weight_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="task_weights"):
        snapshot({"task_weights": {"0": weight}})


def test_changelogs_weigh_by_their_size() -> None:
    ends = {"0_0": 3_000_000, "0_1": 1_000_000, "0_2": 0}
    state = snapshot({"weigh_by": "changelog"}, changelogs=ends)
    assert list_weights(state) == [2.25, 0.75, 0.05, 1.0]
    grown = snapshot({"weigh_by": "changelog"}, changelogs={task: end + end // 10 for task, end in ends.items()})
    assert list_weights(grown) == list_weights(state)
    assert list_weights(snapshot({"weigh_by": "changelog", "task_weights": {"0_0": 7}}, changelogs=ends))[0] == 7
    assert "no task has a changelog_end_offset" in note_of(snapshot({"weigh_by": "changelog"}))[0]


def test_rates_are_learnt_from_one_snapshot_to_the_next() -> None:
    first = snapshot({"weigh_by": "rates"}, {"0_0": 1_000, "0_1": 5_000, "1_0": 0})
    assert list_weights(first) == [1.0] * 4
    answer = assign(first)
    assert note_of(first)[0].endswith("rates count once they were measured for a minute, from 2026-11-20T12:01:00.000Z on")
    later = snapshot(
        {"weigh_by": "rates"},
        {"0_0": 1_000 + 60 * 300, "0_1": 5_000 + 60 * 100, "1_0": 60 * 50},
        at="2026-11-20T12:01:00Z",
        remembered=answer,
    )
    assert later.rates is not None
    assert {row.task: row.per_second for row in later.rates.tasks} == {"0_0": 300.0, "0_1": 100.0, "1_0": 50.0}
    assert list_weights(later) == [2.0, 0.667, 1.0, 0.333]
    assert not note_of(later)
    # The answer carries rates to the next snapshot, even if no offset has changed since.
    again = later.model_copy(update={"remembered": assign(later)})
    assert list_weights(again) == list_weights(later)


def test_rates_of_a_few_seconds_do_not_count_yet() -> None:
    first = snapshot({"weigh_by": "rates"}, {"0_0": 0, "0_1": 0, "0_2": 0, "1_0": 0})
    ends = {"0_0": 900, "0_1": 10, "0_2": 20, "1_0": 0}
    soon = snapshot({"weigh_by": "rates"}, ends, at="2026-11-20T12:00:59Z", remembered=assign(first))
    assert rate_of(soon) == 15.3
    assert list_weights(soon) == [1.0] * 4
    assert "weights are as given" in note_of(soon)[0]
    enough = snapshot({"weigh_by": "rates"}, ends, at="2026-11-20T12:01:00Z", remembered=assign(soon))
    assert list_weights(enough) == [3.87, 0.05, 0.0859, 0.05]
    assert not note_of(enough)


def test_a_group_at_rest_rebalances_when_its_rates_count() -> None:
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0}, balanced=True)
    rested = assign(state)
    assert rested.report.termination.reason == "rest"
    assert [client.followup_rebalance_ms for client in rested.clients] == [60_000, None]
    assert not validate(state, rested)
    second = follow(state, 5, "2026-11-20T12:00:21Z")
    assert [client.followup_rebalance_ms for client in assign(second).clients] == [39_000, None]
    quiet = {"weigh_by": "rates", "hold": "quiet_hours", "hold_ends_ms": 3_600_000}
    assert [client.followup_rebalance_ms for client in assign(snapshot(quiet, {"0_0": 0}, balanced=True)).clients] == [
        3_601_000,
        None,
    ]
    third = follow(second, 5, "2026-11-20T12:01:00Z")
    assert [client.followup_rebalance_ms for client in assign(third).clients] == [None, None]


def test_a_rebalance_just_before_rates_count_waits_a_second_for_the_next() -> None:
    """Nothing is measured within a second: half a second later rates would not count either, and the group would rest."""
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0}, balanced=True)
    late = follow(state, 5, "2026-11-20T12:00:59.500Z")
    (delay,) = {client.followup_rebalance_ms for client in assign(late).clients} - {None}
    assert delay == 1_000
    assert note_of(late)
    assert not note_of(follow(late, 5, "2026-11-20T12:01:00.500Z")), "they count"


@pytest.mark.parametrize(
    ("options", "at"),
    [
        ({"task_weights": {"0": 2, "1": 3}}, "2026-11-20T12:00:21Z"),  # every weight is given by name
        ({"goals": ["restore_work", "load"]}, "2026-11-20T12:00:21Z"),  # counts are balanced, not load
        ({"hold": "paused"}, "2026-11-20T12:00:21Z"),
        ({}, "2026-11-20T12:00:00Z"),  # a simulation, in which no time passes
    ],
)
def test_no_follow_up_waits_for_rates_that_change_nothing(options: dict[str, Any], at: str) -> None:
    state = snapshot({"weigh_by": "rates", **options}, {"0_0": 0}, balanced=True)
    later = snapshot({"weigh_by": "rates", **options}, {"0_0": 5}, at=at, remembered=assign(state), balanced=True)
    assert [client.followup_rebalance_ms for client in assign(later).clients] == [None, None]


def test_no_follow_up_waits_for_offsets_that_the_broker_withholds() -> None:
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0}, balanced=True)
    untold = follow(state, None, "2026-11-20T12:01:00Z")
    assert [client.followup_rebalance_ms for client in assign(untold).clients] == [None, None]
    assert list_weights(follow(untold, 60_000, "2026-11-20T12:01:01Z"))[0] == 1.0
    assert rate_of(follow(untold, 61_000, "2026-11-20T12:01:01Z")) == 1_000


def test_a_new_subtopology_weighs_the_mean_until_its_rates_count() -> None:
    first = snapshot({"weigh_by": "rates"}, {"0_0": 0, "0_1": 0, "0_2": 0})
    known = {"0_0": 6_000, "0_1": 3_000, "0_2": 0}
    state = snapshot({"weigh_by": "rates"}, known | {"1_0": 0}, at="2026-11-20T12:10:00Z", remembered=assign(first))
    later = snapshot({"weigh_by": "rates"}, known | {"1_0": 9_000}, at="2026-11-20T12:10:30Z", remembered=assign(state))
    assert list_weights(later) == [2.0, 1.0, 0.05, 1.0]
    assert "weights of 1_0 are the mean" in note_of(later)[0]


def follow(before: ApplicationState, end: int | None, at: str) -> ApplicationState:
    """Return the next snapshot; the input of task 0_0 ends at offset `end`, or is not known if that is None."""
    is_balanced = bool(before.clients[0].previous_active)
    ends = None if end is None else {"0_0": end}
    return snapshot({"weigh_by": "rates"}, ends, at=at, remembered=assign(before), balanced=is_balanced)


def rate_of(state: ApplicationState) -> float | None:
    assert state.rates is not None
    return state.rates.tasks[0].per_second


def test_a_rate_measured_eight_hours_ago_counts_half() -> None:
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0})
    state = follow(state, 100 * 8 * 3_600, "2026-11-20T20:00:00Z")
    assert rate_of(state) == 100.0
    state = follow(state, 100 * 8 * 3_600, "2026-11-21T04:00:00Z")
    assert rate_of(state) == 33.3, "eight hours of 100 that count half, and eight hours of nothing"


def test_a_burst_between_two_passes_is_soon_forgotten() -> None:
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0})
    state = follow(state, 10_000, "2026-11-20T12:00:02Z")
    assert rate_of(state) == 5_000.0
    state = follow(state, 10_000 + 100 * 600, "2026-11-20T12:10:02Z")
    assert rate_of(state) == pytest.approx(70_000 / 602, rel=0.01)


def test_a_snapshot_without_offsets_keeps_known_rates() -> None:
    state = snapshot({"weigh_by": "rates"}, {"0_0": 0})
    known = follow(state, 60_000, "2026-11-20T12:10:00Z")
    untold = follow(known, None, "2026-11-20T12:20:00Z")
    assert list_weights(untold) == list_weights(known)
    assert rate_of(untold) == 100.0
    assert rate_of(follow(untold, 180_000, "2026-11-20T12:30:00Z")) == 100.0, "as much again in the twenty minutes since"


@pytest.mark.parametrize(
    ("ends", "at"),
    [
        ({"0_0": 10, "0_1": 90}, "2026-11-20T12:10:00Z"),  # topic 0_0 was deleted and created again
        ({"0_0": 90_000, "0_1": 90_000}, "2026-11-20T11:00:00Z"),  # the clock went back
        ({"0_0": 90_000, "0_1": 90_000}, "2026-11-20T12:05:00.500Z"),  # the follow-up rebalance of KIP-429
    ],
)
def test_recreated_topics_and_stepped_clocks_change_no_rates(ends: dict[str, int], at: str) -> None:
    first = snapshot({"weigh_by": "rates"}, {"0_0": 0, "0_1": 0})
    known = snapshot({"weigh_by": "rates"}, {"0_0": 3_000, "0_1": 60}, at="2026-11-20T12:05:00Z", remembered=assign(first))
    strange = snapshot({"weigh_by": "rates"}, ends, at=at, remembered=assign(known))
    assert known.rates is not None
    assert strange.rates is not None
    assert strange.rates.tasks[0].per_second == known.rates.tasks[0].per_second == 10.0


@pytest.mark.parametrize(("at", "lacks"), [(None, "taken_at"), ("2026-11-20T12:00:00Z", "source_end_offset")])
def test_a_note_says_which_inputs_rates_need(at: str | None, lacks: str) -> None:
    state = snapshot({"weigh_by": "rates"}, at=at)
    assert list_weights(state) == [1.0] * 4
    assert lacks in note_of(state)[0]


def test_answers_without_measured_weights_have_no_rates() -> None:
    assert "rates" not in assign(snapshot({}, {"0_0": 1})).model_dump_json()

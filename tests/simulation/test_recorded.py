"""Tests of scenarios made from recordings of real applications: their initial state and the times of their changes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from optassign.formats.configs import Limit
from optassign.formats.input_errors import InputError
from optassign.formats.state import RUNNING
from optassign.recordings.recording import Recording
from optassign.simulation.recorded import make_scenario, read_recordings
from optassign.simulation.timed.application import FOLLOWING, Application
from optassign.simulation.timed.simulator import digest, simulate
from optassign.simulation.timed.snapshots import make_snapshot, place_copies

FOLDER = Path(__file__).parents[1] / "data" / "recordings"


@pytest.fixture(scope="module")
def found() -> dict[str, list[Recording]]:
    return read_recordings(FOLDER)[0]


def test_recordings_are_found_by_application_in_their_order(found: dict[str, list[Recording]]) -> None:
    assert list(found) == ["joining", "leaderless", "rolled", "shadow"]
    times = [recording.recorded_at for recording in found["joining"]]
    assert times == sorted(times)
    assert len(times) == 5


@pytest.mark.parametrize("application", ["joining", "leaderless", "rolled", "shadow"])
def test_it_begins_in_the_state_of_the_first_recording(application: str, found: dict[str, list[Recording]]) -> None:
    scenario, beginning = make_scenario(found[application])
    simulated = Application(scenario, [task.id for task in beginning.tasks])
    simulated.up[:] = [not kind.joins for kind in simulated.clients]
    place_copies(simulated, beginning)
    recorded, snapshot = found[application][0].snapshot, make_snapshot(simulated, None)
    assert snapshot.tasks == tuple(
        task.model_copy(update={"weight": 1.0, "partitions": ()}) if task.logged else task for task in snapshot.tasks
    )
    assert {task.id: (task.stateful, task.logged) for task in snapshot.tasks} == {
        task.id: (task.stateful, task.logged) for task in recorded.tasks
    }
    assert snapshot.full_lags == recorded.full_lags
    for client in recorded.clients:
        mine = snapshot.kafka_streams_states[client.process_id]
        assert mine.previous_active == client.previous_active
        for task, lag in client.lags.items():
            if lag >= 0 and task not in client.previous_active and simulated.mode[simulated.number_of[task]].max() < FOLLOWING:
                assert mine.lags[task] == lag, (client.process_id, task)
            if lag == RUNNING:
                assert mine.lags[task] == RUNNING


@pytest.mark.parametrize("application", ["joining", "leaderless", "rolled", "shadow"])
def test_changelogs_have_their_recorded_lengths(application: str, found: dict[str, list[Recording]]) -> None:
    """Changelogs that a burst fills before an instance joins are full when it joins."""
    first, *later = found[application]
    _, beginning = make_scenario(found[application])
    ends: dict[str, float] = dict(first.snapshot.full_lags)
    until = [inputs.since for inputs in beginning.inputs[1:]]
    reached = {}
    for inputs, end in zip(beginning.inputs, until, strict=False):
        ends = {task: length + inputs.per_s[task] * (end - inputs.since) for task, length in ends.items()}
        reached[end] = dict(ends)
    for recording in later:
        passed = datetime.fromisoformat(recording.recorded_at) - datetime.fromisoformat(first.recorded_at)
        recorded = recording.snapshot.full_lags
        known = {task: recorded[task] for task in ends}
        assert reached[passed.total_seconds()] == pytest.approx(known), recording.recorded_at


def test_later_clients_join_at_their_recorded_times(found: dict[str, list[Recording]]) -> None:
    recordings = found["joining"]
    scenario, _ = make_scenario(recordings)
    first, last = (set(recordings[n].snapshot.kafka_streams_states) for n in (0, -1))
    joined = {client for event in scenario.events if event.do == "join" for client in event.clients}
    assert joined == last - first
    assert {kind.ids[0] for kind in scenario.clients if kind.joins} == joined


def test_it_is_played_until_rest(found: dict[str, list[Recording]]) -> None:
    scenario, beginning = make_scenario(found["joining"])
    played = simulate(scenario, "greedy", beginning=beginning)
    rebalances = [event for event in played.events if event["event"] == "rebalance"]
    assert rebalances[0]["reason"] == "recorded"
    assert played.measures.curve[-1].active_imbalance == 0
    assert played.measures.curve[-1].down == 0
    assert played.measures.curve[-1].standbys_missing == 0
    assert set(played.tasks) == {task.id for task in found["joining"][0].snapshot.tasks}
    assert digest(played) == digest(simulate(scenario, "greedy", beginning=beginning))


def test_threads_process_what_the_recorded_application_processed(found: dict[str, list[Recording]]) -> None:
    first, *_, last = found["joining"]
    quiet, _ = make_scenario([first, last])
    assert {kind.process_per_s for kind in quiet.clients} == {10_000}
    tasks = tuple(
        task.model_copy(update={"changelog_end_offset": 10**9}) if task.logged else task for task in last.snapshot.tasks
    )
    grown = last.model_copy(update={"snapshot": last.snapshot.model_copy(update={"tasks": tasks})})
    scenario, beginning = make_scenario([first, grown])
    input_per_s = sum(beginning.inputs[0].per_s.values())
    threads = sum(kind.threads for kind in scenario.clients if not kind.joins)
    assert input_per_s > 1_000_000
    assert [kind.process_per_s * threads for kind in scenario.clients] == pytest.approx(
        [2 * input_per_s] * len(scenario.clients)
    )


def test_missing_clients_leave(found: dict[str, list[Recording]]) -> None:
    recordings = found["joining"]
    backwards = [recordings[-1], recordings[0].model_copy(update={"recorded_at": "2026-11-21T11:00:00.000Z"})]
    scenario, beginning = make_scenario(backwards)
    (leave,) = (event for event in scenario.events if event.do == "leave")
    assert len(leave.clients) == 2
    assert leave.at == pytest.approx(41 * 60 + 47.604, abs=1e-3)  # a second before the rebalance without them
    played = simulate(scenario, "greedy", beginning=beginning)
    assert played.measures.curve[-1].down == 0


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json.gz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="no recording"):
        read_recordings(tmp_path)


def test_a_run_has_no_operators_and_names_drains_and_limits_by_process(found: dict[str, list[Recording]]) -> None:
    first, *later = found["joining"]
    client = first.snapshot.clients[0].model_copy(update={"client_id": "box-7"})
    options = first.snapshot.options.model_copy(
        update={
            "hold": "quiet_hours",
            "hold_ends_ms": 1_000,
            "forget_plan": True,
            "idle_followup_ms": 60_000,
            "drain": ("box-7",),
            "limits": (Limit(kind="most_copies", most=3, clients=("box-7", "nowhere")),),
        }
    )
    begin = first.snapshot.model_copy(update={"clients": (client, *first.snapshot.clients[1:]), "options": options})
    played = make_scenario([first.model_copy(update={"snapshot": begin}), *later])[0].options
    assert (played.hold, played.hold_ends_ms, played.forget_plan, played.idle_followup_ms) == ("none", None, False, None)
    assert played.drain == (client.process_id,)
    assert played.limits[0].clients == (client.process_id, "nowhere")


def test_a_client_that_comes_back_has_its_new_threads(found: dict[str, list[Recording]]) -> None:
    first, _, last = found["joining"][0], *found["joining"][-2:]
    names = {client.process_id for client in last.snapshot.clients} - {client.process_id for client in first.snapshot.clients}
    more = tuple(
        client.model_copy(update={"threads": 4}) if client.process_id in names else client for client in last.snapshot.clients
    )
    back = last.snapshot.model_copy(update={"clients": more})
    times = [f"2026-11-21T1{hour}:00:00.000Z" for hour in range(3)]
    states = [last.snapshot, first.snapshot, back]  # they are there, gone, and back
    recordings = [
        last.model_copy(update={"snapshot": state, "recorded_at": at}) for state, at in zip(states, times, strict=True)
    ]
    added = {
        client: event.threads
        for event in make_scenario(recordings)[0].events
        if event.do == "add-threads"
        for client in event.clients
    }
    before = last.snapshot.kafka_streams_states
    assert added == {name: 4 - before[name].threads for name in names}

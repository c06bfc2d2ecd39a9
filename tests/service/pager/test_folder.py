"""Tests of the recordings that the folder keeps for groups at rest."""

import json
from pathlib import Path

from serving import list_files, make_report, make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here

from optassign.formats.state import ApplicationState
from optassign.recordings.recording import read_recording


def make_resting_state(application: str) -> ApplicationState:
    clients = [
        {"process_id": name, "threads": 1, "previous_active": [f"0_{number}"], "lags": {f"0_{number}": -2}}
        for number, name in enumerate(("a", "b"))
    ]
    tasks = [{"id": f"0_{number}", "stateful": True, "logged": True, "changelog_end_offset": 9} for number in (0, 1)]
    configs = {"num_standby_replicas": 0}
    return ApplicationState.model_validate_json(
        json.dumps({"format": 1, "application": application, "configs": configs, "tasks": tasks, "clients": clients})
    )


def await_written(service: ServiceHere, number: int) -> None:
    wait_until(lambda: service.read_metric("optassign_recordings_written_total") == number)


def test_the_first_and_last_rebalances_of_a_group_at_rest_are_kept(tmp_path: Path) -> None:
    state = make_resting_state("calm")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        for number in range(6):
            assert read_answer(service.assign(state)).report.termination.reason == "rest"
            await_written(service, number + 1)
        assert len(list_files(tmp_path / "calm")) == 2
        fewer = state.model_copy(update={"clients": state.clients[:1]})
        service.assign(fewer)
        service.assign(make_state("calm"))
        await_written(service, 8)
        assert len(list_files(tmp_path / "calm")) == 4, "what moves something is kept"


def test_an_answer_that_was_not_applied_is_kept_with_the_applied_one(tmp_path: Path) -> None:
    state = make_resting_state("calm")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        for number in range(3):
            response = service.assign(state, optassign_rebalance=f"r-{number}")
            await_written(service, number + 1)
        at = int(response.headers["Optassign-Answered-At"])
        service.report(make_report(state, read_answer(response)), "r-2", at + 1)
        await_written(service, 4)
        service.assign(state, optassign_rebalance="r-3")
        service.assign(state, optassign_rebalance="r-4")
        await_written(service, 6)
        assert any(read_recording(path).reported for path in list_files(tmp_path / "calm"))


def test_a_group_at_rest_leaves_no_empty_folder_of_a_day(tmp_path: Path) -> None:
    state = make_resting_state("calm")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        for number in range(5):
            service.assign(state)
            await_written(service, number + 1)
            service.pass_seconds(86_400)
        days = sorted((tmp_path / "calm").iterdir())
        assert [len(list_files(day)) for day in days] == [1, 1], "the first and the last"

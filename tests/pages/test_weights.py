"""Tests of weights on pages, in logs, metrics and explanations: rates that do not count yet, and balanced loads."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pages import write_recording
from serving import wait_until
from serving_here import run_service_here

from optassign.assignor import assign
from optassign.formats.state import ApplicationState
from optassign.generating import generate
from optassign.judging.answer_in_context import AnswerInContext
from optassign.judging.explain import explain_answer
from optassign.judging.explanation_text import answer_to_lines
from optassign.judging.metrics import measure
from optassign.measuring.load import Loads
from optassign.measuring.placement import TaskPlacement
from optassign.recordings.recording import summarise
from optassign.service.views.what_if import apply_changes, read_changes

HTML = {"Accept": "text/html"}


def make_weighed(seconds: int) -> ApplicationState:
    """Return a group at rest, `seconds` after the first snapshot; the n-th task's input grows by n records per second."""
    state = generate("steady", 8, 2, 0, seed=1)
    tasks = [task.model_copy(update={"source_end_offset": seconds * (1 + place)}) for place, task in enumerate(state.tasks)]
    return state.model_copy(
        update={
            "application": "weighed",
            "taken_at": f"2026-11-20T12:0{seconds // 60}:{seconds % 60:02}Z",
            "tasks": tasks,
            "options": state.options.model_copy(update={"weigh_by": "rates"}),
        }
    )


def test_the_page_says_when_rates_count(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        service.assign(make_weighed(0))
        line = service.wait_for("rebalance", application="weighed")
        assert line["rates_count_from"] == "2026-11-20T12:01:00.000Z"
        wait_until(lambda: service.read_metric("optassign_application_measuring_input", application="weighed") == 1)
        wait_until(lambda: service.client.get("/v1/history").json()["applications"])
        (row,) = service.client.get("/v1/history").json()["applications"]
        assert row["rates_count_from"] == "2026-11-20T12:01:00.000Z"
        assert "by numbers of tasks" in row["status"]["about"]
        page = service.client.get("/applications/weighed", headers=HTML).text
        assert "rates of the input count as weights from <time" in page
        assert "measures what tasks read" in page
        assert "tells no plan" not in page
        service.assign(make_weighed(60))
        assert "rates_count_from" not in service.wait_for("rebalance", 2, application="weighed")
        wait_until(lambda: service.read_metric("optassign_application_measuring_input", application="weighed") == 0)
        wait_until(lambda: not service.client.get("/v1/history").json()["applications"][0]["rates_count_from"])
        page = service.client.get("/applications/weighed", headers=HTML).text
        assert "rates of the input count" not in page


def test_a_group_with_warm_ups_is_not_complete_without_a_list_of_awaited_copies(tmp_path: Path) -> None:
    state = generate("scale-out", 12, 3, 0, seed=1)
    tasks = [task.model_copy(update={"source_end_offset": 1000 * place}) for place, task in enumerate(state.tasks)]
    options = state.options.model_copy(update={"weigh_by": "rates"})
    now = {"application": "weighed", "taken_at": "2026-11-20T12:00:00Z", "tasks": tasks, "options": options}
    write_recording(tmp_path, state.model_copy(update=now), datetime.now(UTC), assignor="high-availability")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        (row,) = service.client.get("/v1/history").json()["applications"]
        assert row["last"]["warmups"]
        assert row["rates_count_from"]
        assert not row["balanced"]
        page = service.client.get("/applications/weighed", headers=HTML).text
        assert "tells no plan" in page
        assert "Every copy is where it should be" not in page
        assert "by numbers of tasks" not in page
        for text in (page, service.client.get("/", headers=HTML).text):
            assert "measures what tasks read" not in text
        assert "waits for 2 warm-ups" in page


def test_balanced_loads_are_shown_everywhere(tmp_path: Path) -> None:
    """Page, API, metrics and explain have the same figure, with standbys by their weight."""
    state = generate("scale-out", 24, 4, 1, seed=2)
    tasks = [task.model_copy(update={"weight": float(1 + place % 5)}) for place, task in enumerate(state.tasks)]
    options = state.options.model_copy(update={"standby_load": 0.5})
    state = state.model_copy(update={"application": "heavy", "tasks": tasks, "options": options})
    answer = assign(state, "greedy")
    about = AnswerInContext(state, answer)
    expected = {client: about.loads_of(client).after for client in state.kafka_streams_states}
    with_standbys = Loads(state).measure(TaskPlacement.of(state, answer))
    assert expected == pytest.approx(with_standbys)
    write_recording(tmp_path, state, datetime.now(UTC))
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        view = service.client.get("/v1/history/heavy").json()
        assert {row["process_id"]: row["load"] for row in view["holders"]} == pytest.approx(expected, abs=1e-6)
        assert view["row"]["load_unit"] == "even spreads"
        assert view["row"]["load_most"] == pytest.approx(max(expected.values()), abs=1e-6)
        assert service.read_metric("optassign_application_load_most", application="heavy") == view["row"]["load_most"]
        there = "/v1/history/" + view["row"]["last"]["id"].replace("/", "/rebalances/", 1)
        rows = service.client.get(there).json()["counts"]
        assert {row["process_id"]: row["load"]["after"] for row in rows} == pytest.approx(expected, abs=1e-3)
        assert all(row["low"] is None for row in rows), "shares demand nothing"
        assert (
            "in even spreads, of which up to"
            in service.client.get(there.replace("/v1/history", "/applications"), headers=HTML).text
        )
        page = service.client.get("/applications/heavy", headers=HTML).text
        assert "Load, even spreads" in page
        assert "Load per thread" not in page


def test_balance_is_the_same_everywhere() -> None:
    """The answer proves that the greatest load is at least 1.33 even spreads, so it counts as balanced."""
    tasks = [{"id": f"0_{p}", "stateful": False, "weight": w} for p, w in enumerate((1.0, 1.0, 3.0, 2.0, 1.0))]
    clients = [{"process_id": name, "threads": 1} for name in "abcd"]
    state = ApplicationState.model_validate({"format": 1, "configs": {}, "tasks": tasks, "clients": clients})
    answer = assign(state)
    assert Loads(state).find_greatest(TaskPlacement.of(state, answer)) > 1.3
    assert answer.report.balanced
    assert summarise(state, answer).balanced  # the page, the log and the metrics
    assert measure(state, answer).balanced
    assert any(
        line.startswith("balanced: greatest load 0.000 → 1.333") for line in answer_to_lines(explain_answer(state, answer))
    )


def test_an_answer_with_an_idle_thread_is_balanced_nowhere() -> None:
    tasks = [{"id": f"0_{p}", "stateful": False, "weight": w} for p, w in enumerate((9.0, 1.0, 1.0))]
    clients = [{"process_id": name, "threads": 1} for name in "abc"]
    state = ApplicationState.model_validate({"format": 1, "configs": {}, "tasks": tasks, "clients": clients})
    given = assign(state)
    active = {"a": ("0_0",), "b": ("0_1", "0_2"), "c": ()}
    rows = [client.model_copy(update={"active": active[client.process_id]}) for client in given.clients]
    answer = given.model_copy(update={"clients": tuple(rows), "plan": None})
    assert not summarise(state, answer).balanced
    assert any(line.startswith("not balanced yet: greatest load") for line in answer_to_lines(explain_answer(state, answer)))


def test_weights_in_a_what_if_override_measured_ones() -> None:
    state = generate("steady", 8, 2, 0, seed=1)
    first = state.tasks[0].id
    weighed = state.model_copy(update={"options": state.options.model_copy(update={"weigh_by": "changelog"})})
    changed = apply_changes(read_changes({"weights": f"{first}:7"}, weighed), weighed)
    assert changed.all_tasks[first].weight == 7
    assert [task.weight for task in changed.tasks[1:]] == [task.weight for task in weighed.tasks[1:]]

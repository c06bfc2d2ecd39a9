"""Tests of solvers that are late, die or are busy: the answer that is sent, and the log and metrics.
They test `optassign.service.rebalances`."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from serving import list_files, make_report, make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here

from optassign.assignor import assign
from optassign.recordings.recording import read_recording


def test_a_late_solver_costs_no_answer(tmp_path: Path) -> None:
    """Greedy's answer was ready before the solver started; it is sent before the deadline, and recorded."""
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service, ThreadPoolExecutor(1) as thread:
        with service.hold("spare"):
            response = thread.submit(service.assign, make_state("orders"), optassign_deadline_ms="5000")
            service.await_held("spare")
            service.pass_seconds(4.99)
            answer = read_answer(response.result())
        assert answer.report.termination.reason == "limit"
        line = service.wait_for("rebalance", application="orders")
        assert line["in_time"]
        (path,) = wait_until(lambda: list_files(tmp_path))
        recorded = read_recording(path).assignment
        assert recorded.without_times().clients == answer.without_times().clients


def test_a_solver_that_dies_costs_no_answer_and_the_log_names_the_application(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service, ThreadPoolExecutor(1) as thread:
        with service.hold("spare"):
            response = thread.submit(service.assign, make_state("orders"), optassign_deadline_ms="60000")
            service.await_held("spare").kill()
            assert read_answer(response.result()).report.termination.reason == "limit"
        assert service.wait_for("worker_died")["application"] == "orders"
        (path,) = wait_until(lambda: list_files(tmp_path))
        answer = read_answer(response.result())
        assert read_recording(path).assignment.without_times().clients == answer.without_times().clients
        assert service.read_metric("optassign_application_status", application="orders", status="fallback") == 1
        assert service.read_metric("optassign_recordings_lost_total") == 0


def refuse_one(service: ServiceHere, **headers: str) -> httpx.Response:
    """Send a request while the only worker is busy until after the deadline; return the response."""
    with service.hold("unread"), ThreadPoolExecutor(2) as thread:
        first = thread.submit(service.assign, make_state("large"), optassign_deadline_ms="60000")
        service.await_held("unread")
        second = thread.submit(service.assign, make_state("small"), optassign_deadline_ms="3000", **headers)
        wait_until(lambda: service.read_metric("optassign_queue_length") == 1)
        service.pass_seconds(3.1)
        response = second.result()
        service.let_go("unread")
        assert first.result().status_code == 200
    return response


def test_a_refusal_names_application_and_reason() -> None:
    with run_service_here("--workers", "1") as service:
        assert refuse_one(service).status_code == 503
        line = service.wait_for("refused", application="small")
        assert (line["reason"], line["path"]) == ("busy", "/v1/assign")
        assert line["seconds"] >= 2.9
        assert service.read_metric("optassign_refused_total", reason="busy") == 1


def test_the_report_of_a_refused_rebalance_is_not_solved_again(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert refuse_one(service, optassign_rebalance="r-7").status_code == 503
        state = make_state("small")
        body = make_report(state, assign(state, "sticky"))
        reply = service.report(body, "r-7", 1).json()
        assert (reply["recorded"], reply["not_applied"]) == (True, None)
        assert service.report(body, "r-8", 2).json()["not_applied"] is not None, "of which this service was not asked"

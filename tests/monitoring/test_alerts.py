"""Tests of each alert with a real service in its state, metrics scraped each minute, and Prometheus's own evaluation."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from alerting import Scrapes, list_alerts
from certificates import Files, trust
from deploying import ROOT
from serving import make_report, make_state, wait_until
from serving_here import ServiceHere, run_service_here
from stalling_group import DAY, Group

from optassign import assign
from optassign.generating import generate

OPTIONS = ("--workers", "1", "--recordings")
RUNBOOK = (ROOT / "docs/how-to/runbook.md").read_text(encoding="utf-8")


def await_written(service: ServiceHere, number: int) -> None:
    wait_until(lambda: (service.read_metric("optassign_recordings_written_total") or 0) >= number)


def test_each_alert_is_tried() -> None:
    """The alert of the watcher is tried where a broker is."""
    files = (Path(__file__), ROOT / "tests" / "broker" / "test_watch.py")
    tried = [name for file in files for name in re.findall(r'check\(tmp_path, "(\w+)"', file.read_text(encoding="utf-8"))]
    assert sorted(set(tried)) == sorted(list_alerts())


def test_a_service_that_has_ended(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", day=DAY) as service:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(1)
        service.stop()
        for _ in range(4):
            scrapes.minute += 1
            scrapes.scrape()
    scrapes.check(tmp_path, "OptassignDown", silent=1, fires=5)


def test_a_group_that_is_on_its_way_for_six_hours(tmp_path: Path) -> None:
    group = Group("orders")
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        group.rebalance(service)
        await_written(service, 1)
        scrapes = Scrapes(service, DAY)
        for number in range(1, 5):
            scrapes.pass_unseen(89)
            group.at += 60 * 89
            group.rebalance(service, {f"0_{task}": 100_000 - 20_000 * number for task in range(36)})
            await_written(service, number + 1)
            scrapes.scrape()
        scrapes.pass_minutes(10)
    scrapes.check(tmp_path, "OptassignNotSettling", silent=356, fires=366)


def test_a_group_that_restores_nothing_and_a_retired_one(tmp_path: Path) -> None:
    """The alert fires for this group only, and no alert fires for a retired application."""
    group, retired, number = Group("orders"), Group("retired"), 0
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        retired.rebalance(service)
        await_written(service, 1)
        assert service.client.post("/v1/applications/retired/end", json={}, headers={"Optassign-Protocol": "1"}).is_success
        scrapes = Scrapes(service, DAY)
        while group.at < 16 * 60:
            delay = group.rebalance(service)
            number += 1
            await_written(service, number + 1)
            scrapes.scrape()
            minutes = max(1, round(delay / 60))
            scrapes.pass_minutes(minutes)
            group.at += 60 * minutes
        scrapes.check(tmp_path, "OptassignStuck", silent=5, fires=scrapes.minute)
        assert 'application="retired"' not in service.client.get("/metrics").text


def test_an_answer_above_its_bound(tmp_path: Path) -> None:
    options = ("--register", "loose=failing_assignors:WeakBoundAssignor", "--assignor", "loose")
    with run_service_here(*OPTIONS, str(tmp_path), *options, day=DAY) as service:
        service.assign(make_state("orders"))
        await_written(service, 1)
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(31)
    scrapes.check(tmp_path, "OptassignGap", silent=29, fires=31)


def read_reasons(service: ServiceHere, application: str) -> str:
    """Return the first page's texts about an application's status, once its rebalance is recorded."""

    def find() -> list[str]:
        rows = service.client.get("/v1/history").json()["applications"]
        return [row["status"]["about"] for row in rows if row["application"] == application]

    return str(wait_until(find)[0])


@pytest.mark.parametrize("cause", ["deadline", "refusal", "dead worker"])
def test_a_fallback_of_each_cause_is_told_apart(tmp_path: Path, cause: str) -> None:
    """The runbook tells the causes apart by the service's texts."""
    state = make_state("orders")
    body = make_report(state, assign(state, "sticky"), "status 503")
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service, ThreadPoolExecutor(2) as thread:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(1)
        if cause == "deadline":
            assert service.assign(state, optassign_deadline_ms="90").status_code == 200
            message = "greedy answered, as there was no time for the solver"
        elif cause == "refusal":
            with service.hold("unread"):
                thread.submit(service.assign, make_state("large"))
                service.await_held("unread")
                refused = thread.submit(service.assign, state, optassign_deadline_ms="3000", optassign_rebalance="r-1")
                wait_until(lambda: service.read_metric("optassign_queue_length") == 1)
                service.pass_seconds(3.1)
                assert refused.result().status_code == 503
            assert service.wait_for("refused", application="orders")["reason"] == "busy"
            message = "status 503"
        else:
            with service.hold("unread"):
                refused = thread.submit(service.assign, state, optassign_rebalance="r-1")
                service.await_held("unread").kill()
                assert refused.result().status_code == 503
            assert service.wait_for("refused", application="orders")["reason"] == "worker died"
            assert service.wait_for("worker_died")["application"] == "orders"
            message = "status 503"
        if cause != "deadline":
            assert service.report(body, "r-1", round(1000 * DAY)).status_code == 200
        wait_until(lambda: service.read_metric("optassign_application_status", application="orders", status="fallback") == 1)
        assert message in read_reasons(service, "orders")
        scrapes.pass_minutes(3)
    scrapes.check(tmp_path, "OptassignFallback", silent=1, fires=4)
    section = RUNBOOK.partition("## OptassignFallback")[2].partition("\n## ")[0]
    assert all(word in section for word in (message, "`worker_died`", "OptassignRefusing"))


def test_an_estimate_that_was_far_too_short(tmp_path: Path) -> None:
    group, tasks = Group("orders"), [f"0_{task}" for task in range(36)]
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        group.rebalance(service)
        group.wait(service, 10)
        group.rebalance(service, dict.fromkeys(tasks, 50_000))
        await_written(service, 2)
        estimate = service.read_metric("optassign_application_settling_estimate_seconds", application="orders") or 0
        assert 10 < estimate < 600
        scrapes = Scrapes(service, DAY + group.at)
        scrapes.pass_minutes(round(2 * estimate / 60) + 22)
    scrapes.check(tmp_path, "OptassignEstimateFarOff", silent=10, fires=scrapes.minute)


def test_standbys_that_are_missing_for_an_hour(tmp_path: Path) -> None:
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        scrapes = Scrapes(service, DAY)
        for number in range(1, 4):
            service.assign(generate("cold", 24, 4, 1, seed=1).model_copy(update={"application": "orders"}))
            await_written(service, number)
            scrapes.pass_minutes(21)
    scrapes.check(tmp_path, "OptassignStandbysMissing", silent=59, fires=62)


def test_a_follow_up_that_does_not_come(tmp_path: Path) -> None:
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        service.assign(make_state("orders"))
        await_written(service, 1)
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(32)
    scrapes.check(tmp_path, "OptassignFollowupOverdue", silent=14, fires=32)


def test_workers_that_do_not_start(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", day=DAY, held=(("solvers", "starting"),)) as service:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(6)
    scrapes.check(tmp_path, "OptassignNoWorker", silent=4, fires=6)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "recordings"
    folder.mkdir()
    (folder / "orders").write_text("a file in the place of the folder", encoding="ascii")
    with run_service_here(*OPTIONS, str(folder), day=DAY) as service:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(1)
        service.assign(make_state("orders"))
        wait_until(lambda: service.read_metric("optassign_recordings_lost_total") == 1)
        scrapes.pass_minutes(3)
    scrapes.check(tmp_path, "OptassignNotRecording", silent=1, fires=4)


def test_pauses_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / ".operator-requests.json").write_text("no JSON", encoding="ascii")
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(2)
        (tmp_path / ".operator-requests.json.unreadable").unlink()
    scrapes.check(tmp_path, "OptassignOperatorRequestsLost", silent=0, fires=2)


def test_requests_that_are_refused(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", day=DAY) as service, ThreadPoolExecutor(5) as thread:
        scrapes = Scrapes(service, DAY)
        with service.hold("unread"):
            large = thread.submit(service.assign, make_state("large"))
            service.await_held("unread")
            small = [
                thread.submit(service.assign, make_state(f"small-{number}"), optassign_deadline_ms="3000")
                for number in range(4)
            ]
            wait_until(lambda: service.read_metric("optassign_queue_length") == 4)
            service.pass_seconds(3.1)
            assert [response.result().status_code for response in small] == [503] * 4
        assert large.result().status_code == 200
        scrapes.pass_minutes(3)
    scrapes.check(tmp_path, "OptassignRefusing", silent=0, fires=3)


def test_a_certificate_that_expires(tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", not_after=datetime.fromtimestamp(DAY, UTC) + timedelta(days=14, minutes=5))
    files = Files(tmp_path / "cert.pem", tmp_path / "key.pem")
    issued.cert_chain_pems[0].write_to_path(str(files.certificate))
    issued.private_key_pem.write_to_path(str(files.key))
    with run_service_here("--workers", "1", *files.options, verify=trust(authority), day=DAY) as service:
        scrapes = Scrapes(service, DAY)
        scrapes.pass_minutes(12)
    scrapes.check(tmp_path, "OptassignCertificateExpires", silent=9, fires=12)


def test_a_file_of_tokens_that_cannot_be_used(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("some-token-0123456789\n", encoding="ascii")
    with run_service_here("--workers", "1", "--token-file", str(tokens), day=DAY) as service:
        service.client.headers["Authorization"] = "Bearer some-token-0123456789"
        scrapes = Scrapes(service, DAY)
        tokens.write_text("short\n", encoding="ascii")
        service.await_look("settings_kept")
        scrapes.pass_minutes(3)
    scrapes.check(tmp_path, "OptassignSettingsRefused", silent=0, fires=3)

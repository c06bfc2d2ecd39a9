"""Tests of applications that end or return: ended by an operator or by rule; and of the list of allowed names."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pages import write_recording
from serving import make_state, wait_until
from serving_here import ServiceHere, run_service_here

from optassign.cli import main
from optassign.generating import generate

ASK = {"Optassign-Protocol": "1"}
DUE = "optassign_application_followup_timestamp_seconds"


def forget(service: ServiceHere, *options: str) -> None:
    assert main(["forget", "orders", *options, "--url", str(service.client.base_url)]) == 0


def find_row(service: ServiceHere, application: str) -> dict[str, str]:
    """Return the application's status in the list, which shows it once its first recording is written."""

    def find_status() -> dict[str, str] | None:
        rows = service.client.get("/v1/history").json()["applications"]
        return next((row["status"] for row in rows if row["application"] == application), None)

    found: dict[str, str] = wait_until(find_status)
    return found


def test_a_forgotten_application_is_no_alert_until_it_is_back(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        service.assign(make_state("orders"))
        wait_until(lambda: service.read_metric(DUE, application="orders") is not None)
        forget(service, "--by", "ann")
        assert find_row(service, "orders") == {**find_row(service, "orders"), "word": "stopped"}
        assert "ann" in find_row(service, "orders")["about"]
        assert 'application="orders"' not in service.client.get("/metrics").text
        service.assign(make_state("orders"))  # an instance stops, and the others rebalance once more
        service.wait_for("rebalance", 2, application="orders")
        assert find_row(service, "orders")["word"] == "stopped"
        service.pass_seconds(1_000)
        service.assign(make_state("orders"))
        service.wait_for("hold", application="orders", what="returned")
        wait_until(lambda: find_row(service, "orders")["word"] != "stopped")
        assert service.read_metric(DUE, application="orders") is not None


def test_an_expected_end_counts_from_its_time_on(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        service.assign(make_state("orders"))
        wait_until(lambda: service.read_metric(DUE, application="orders") is not None)
        forget(service, "--after", "3600")
        assert find_row(service, "orders")["word"] != "stopped"
        service.pass_seconds(3_601)
        assert find_row(service, "orders")["word"] == "stopped"
        assert service.read_metric(DUE, application="orders") is None
        forget(service, "--after", "30d")
        assert find_row(service, "orders")["word"] != "stopped"


def test_a_group_of_a_broker_is_forgotten_until_it_is_back() -> None:
    """A broker asks in shadow mode, and reports nothing of what it applied."""
    name = "optassign_application_tasks"
    with run_service_here("--workers", "1") as service:
        service.assign(make_state("orders"), optassign_mode="shadow")
        wait_until(lambda: service.read_metric(name, application="orders") is not None)
        forget(service)
        assert service.read_metric(name, application="orders") is None
        service.pass_seconds(1_000)
        service.assign(make_state("orders"), optassign_mode="shadow")
        service.wait_for("hold", application="orders", what="returned")
        wait_until(lambda: service.read_metric(name, application="orders") is not None)
        service.pass_seconds(25 * 3600)
        assert service.read_metric(name, application="orders") is None


def test_a_day_of_silence_is_a_stop(tmp_path: Path) -> None:
    now = float(round(time.time()))
    write_recording(tmp_path, make_state("gone"), datetime.fromtimestamp(now, UTC) - timedelta(hours=1))
    with run_service_here("--workers", "1", "--recordings", str(tmp_path), day=now) as service:
        assert find_row(service, "gone")["word"] == "unknown"
        service.pass_seconds(25 * 3600)
        assert find_row(service, "gone")["word"] == "stopped"


def test_silence_without_a_due_follow_up_is_no_stop(tmp_path: Path) -> None:
    """A group in shadow mode, or without follow-ups at rest, need not rebalance for days."""
    now = float(round(time.time()))
    state = generate("steady", 24, 4, 1, seed=1).model_copy(update={"application": "resting"})
    write_recording(tmp_path, state, datetime.fromtimestamp(now, UTC))
    with run_service_here("--workers", "1", "--recordings", str(tmp_path), day=now) as service:
        service.pass_seconds(72 * 3600)
        assert find_row(service, "resting")["word"] == "unknown"


def test_a_drain_of_a_forgotten_application_lets_no_client_stop(tmp_path: Path) -> None:
    state = make_state("orders")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        service.assign(state)
        page = f"/v1/applications/orders/drains/{next(c.process_id for c in state.clients if c.previous_active)}"
        assert service.client.post(f"{page}?wait=0", headers=ASK).status_code == 202
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(service.client.post, f"{page}?wait=600", headers=ASK, timeout=600)
            wait_until(lambda: service.read_metric("optassign_in_flight") == 1)
            forget(service)
            service.pass_seconds(1)
            assert waiting.result().status_code == 202
        history = service.client.get("/v1/applications/orders").json()["history"]
        assert [action["what"] for action in history] == ["ended", "undrain", "drain"]


@pytest.mark.parametrize("name", ["", " ", "\n"])
def test_empty_names_are_refused(here: ServiceHere, name: str) -> None:
    response = here.assign(make_state("orders").model_copy(update={"application": name}))
    assert (response.status_code, response.json()["where"]) == (400, "application")


def test_only_listed_applications_are_answered(tmp_path: Path) -> None:
    file = tmp_path / "applications.toml"
    file.write_text("only_listed = true\n[applications.orders]\n", encoding="utf-8")
    with run_service_here("--workers", "1", "--applications", str(file)) as service:
        assert service.assign(make_state("orders")).status_code == 200
        response = service.assign(make_state("other"))
        assert (response.status_code, response.json()["found"]) == (403, "other")
        assert service.assign(make_state(None)).status_code == 403

"""Tests of a group without progress: the delay of its status and metrics, also across a restart of the service."""

import math
from datetime import datetime
from pathlib import Path

import pytest
from serving import wait_until
from serving_here import ServiceHere, run_service_here
from stalling_group import DAY, Group

OPTIONS = ("--workers", "1", "--recordings")
CLOCKS = ("progress_timestamp_seconds", "settling_since_timestamp_seconds", "settling_estimate_seconds")


def find_word(service: ServiceHere, application: str) -> str:
    rows = service.client.get("/v1/history").json()["applications"]
    return str(next(row["status"]["word"] for row in rows if row["application"] == application))


def await_recorded(service: ServiceHere, number: int) -> None:
    wait_until(lambda: (service.read_metric("optassign_recordings_written_total") or 0) >= number)


@pytest.mark.parametrize("tasks", [12, 36, 100])
def test_it_is_stuck_within_a_quarter_of_an_hour_and_no_end_is_invented(tmp_path: Path, tasks: int) -> None:
    group, number = Group("orders", tasks), 0
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        while True:
            delay = group.rebalance(service)
            number += 1
            await_recorded(service, number)
            page = service.client.get("/v1/history/orders").json()
            assert page["row"]["expected_end"] is None, "no rate has been measured"
            assert math.isnan(
                service.read_metric("optassign_application_expected_end_timestamp_seconds", application="orders") or 0
            )
            word = find_word(service, "orders")
            assert service.read_metric("optassign_application_status", application="orders", status=word) == 1
            if word == "stuck":
                break
            group.wait(service, delay)
        assert group.at <= 600, "the alert waits for five minutes more"
        assert service.read_metric("optassign_application_progress_timestamp_seconds", application="orders") == DAY
        since = datetime.fromisoformat(page["row"]["status"]["since"]).timestamp()
        assert since == DAY, "since it waits without progress"


def test_progress_ends_it(tmp_path: Path) -> None:
    group, number = Group("orders"), 0
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        while number < 10:
            delay, number = group.rebalance(service), number + 1
            await_recorded(service, number)
            group.wait(service, delay)
        assert find_word(service, "orders") == "stuck"
        lags = {f"0_{task}": 50_000 for task in range(36)}
        group.rebalance(service, lags)
        await_recorded(service, number + 1)
        assert find_word(service, "orders") == "warming up"
        since = service.read_metric("optassign_application_progress_timestamp_seconds", application="orders")
        assert since == pytest.approx(DAY + group.at, abs=1)


def test_a_restart_of_the_service_changes_no_clock(tmp_path: Path) -> None:
    group = Group("orders")
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        for number in range(1, 6):
            delay = group.rebalance(service, {"0_0": 100_000 - 100 * min(number, 3), "0_1": 99_000} if number > 1 else None)
            await_recorded(service, number)
            group.wait(service, delay)
        known = {name: service.read_metric(f"optassign_application_{name}", application="orders") for name in CLOCKS}
    assert known["settling_since_timestamp_seconds"] == DAY
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY + group.at) as service:
        for name, value in known.items():
            found = service.read_metric(f"optassign_application_{name}", application="orders")
            assert found == pytest.approx(value, nan_ok=True), name


def test_a_stuck_group_in_shadow_mode_is_shown_also_after_a_restart(tmp_path: Path) -> None:
    """Kafka's assignor decides, and reports no awaited copies."""
    group = Group("orders")
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY) as service:
        for number, lag in enumerate((100_000, 60_000, 60_000), start=1):
            group.rebalance_in_shadow(service, dict.fromkeys((f"0_{task}" for task in range(36)), lag))
            await_recorded(service, number)
            assert find_word(service, "orders") == "warming up"
            group.wait(service, 400)
        known = {name: service.read_metric(f"optassign_application_{name}", application="orders") for name in CLOCKS}
    assert known["settling_since_timestamp_seconds"] == DAY
    assert known["progress_timestamp_seconds"] == DAY + 400
    with run_service_here(*OPTIONS, str(tmp_path), day=DAY + group.at) as service:
        for name, value in known.items():
            found = service.read_metric(f"optassign_application_{name}", application="orders")
            assert found == pytest.approx(value, nan_ok=True), name
        group.rebalance_in_shadow(service, dict.fromkeys((f"0_{task}" for task in range(36)), 60_000))
        await_recorded(service, 1)
        assert find_word(service, "orders") == "stuck"
        assert service.read_metric("optassign_application_progress_timestamp_seconds", application="orders") == DAY + 400

"""Tests of instances' progress between two rebalances, on the page of their application and as JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import OPERATOR, READER
from serving import Running
from serving_here import ServiceHere, run_service_here

from optassign.service.views.progress import CopyProgress, ProgressReport, ProgressReports

_HEADERS = {"Optassign-Protocol": "1", "Content-Type": "application/json"}


@pytest.fixture
def live(copied_day: Path, end_of_day: float) -> Iterator[ServiceHere]:
    """Yield a service with the demonstration's day, whose clock begins at the day's end."""
    with run_service_here("--workers", "1", "--recordings", str(copied_day), day=end_of_day) as started:
        yield started


def tell(service: Running, client: str, *copies: dict[str, Any], **headers: str) -> Any:
    body = {"application": "orders", "client": client, "copies": copies}
    return service.client.post("/v1/progress", json=body, headers=_HEADERS | headers)


def find_copy(service: Running, task: str, process_id: str) -> dict[str, Any]:
    view = service.client.get("/v1/history/orders").json()
    (found,) = [copy for copy in view["copies"] if (copy["task"], copy["process_id"]) == (task, process_id)]
    return {**found, "live": view["live"]}


def test_the_page_shows_progress_until_an_instance_falls_silent(live: ServiceHere) -> None:
    live.pass_seconds(1)
    before = next(copy for copy in live.client.get("/v1/history/orders").json()["copies"] if copy["restoring"])
    task, client, lag = before["task"], before["process_id"], before["whole"] // 4
    copy = {"task": task, "partition": 0, "role": "standby", "lag": lag, "per_second": lag // 100, "x_new": 1}
    assert tell(live, client, copy).json() == {"next_ms": 5000}
    shown = find_copy(live, task, client)
    assert (shown["live"], shown["lag"], shown["progress_now"]) == (1, lag, 0.75)
    assert shown["progress"] == before["progress"], "as the rebalance found it"
    assert shown["expected_end"] != before["expected_end"]
    page = live.client.get("/applications/orders", headers={"Accept": "text/html"}).text
    assert '75 %<br><span class="live">live, 1 s ago</span>' in page
    assert "1 instance tells live how far copies are" in page

    live.pass_seconds(60)
    assert find_copy(live, task, client)["live"] == 0, "an instance that restores and says nothing may be gone"
    assert tell(live, client, {**copy, "lag": 0}).status_code == 200
    live.pass_seconds(600)
    done = find_copy(live, task, client)
    assert (done["live"], done["why"]) == (1, "caught up: the next rebalance counts it")


def test_progress_of_an_earlier_rebalance_or_unknown_client_is_ignored(live: ServiceHere) -> None:
    copies = live.client.get("/v1/history/orders").json()["copies"]
    told = {"task": copies[0]["task"], "partition": 0, "role": "standby", "lag": 1}
    assert tell(live, "stranger", told).status_code == 200
    live.pass_seconds(-3600)
    assert tell(live, copies[0]["process_id"], told).status_code == 200
    live.pass_seconds(3600)
    view = live.client.get("/v1/history/orders").json()
    assert (view["live"], view["heard_at"], view["copies"]) == (0, None, copies)


@pytest.mark.parametrize(
    ("copy", "place"),
    [
        ({"task": "0_0", "partition": 0, "role": "warm-up", "lag": 1}, "copies[0].role"),
        ({"task": "0_0", "partition": 0, "role": "standby", "lag": -1}, "copies[0].lag"),
        ({"task": "zero", "partition": 0, "role": "standby", "lag": 1}, "copies[0].task"),
    ],
)
def test_an_invalid_report_is_refused_with_its_place(live: ServiceHere, copy: dict[str, Any], place: str) -> None:
    refused = tell(live, "a", copy)
    assert (refused.status_code, refused.json()["where"]) == (400, place)
    assert tell(live, "a", *[{**copy, "task": "0_0", "role": "standby", "lag": 1}] * 101).status_code == 400
    assert live.client.post("/v1/progress", content=b"{}", headers={"Content-Type": "application/json"}).status_code == 400


def test_a_token_reports_for_its_own_applications_only(guarded: Running) -> None:
    assert tell(guarded, "a", Authorization=f"Bearer {READER}").status_code == 403
    assert tell(guarded, "a", Authorization=f"Bearer {OPERATOR}").status_code == 200
    assert tell(guarded, "a").status_code == 401


def test_many_instances_report_less_often_and_the_oldest_reports_go() -> None:
    progress = ProgressReports(lambda: 1000.0)
    copy = CopyProgress(partition=1, role="active", lag=5)
    paces = [progress.take(ProgressReport(application="many", client=str(n), copies=(copy,))) for n in range(2_001)]
    assert (paces[0], paces[-1]) == (5.0, 40.0)
    assert len(progress.list("many")) == 2_000
    assert {each.client for each in progress.list("many")} == {str(n) for n in range(1, 2_001)}

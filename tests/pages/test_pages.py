"""Tests of the pages and of their JSON over a day of rebalances.
They test `optassign.service.pages.jobs`, `optassign.service.pages.routes`, `optassign.service.views.expectations`,
`optassign.service.views.heat_map`, `optassign.service.views.rebalances` and `optassign.service.views.types`."""

import itertools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pages import REBALANCES_ON_A_PAGE, list_pages, write_recording
from serving import Running, list_files, make_state, wait_until
from serving_here import run_service_here

from optassign.formats.base import parse_time
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import read_recording
from optassign.service.pages.rendering import render
from optassign.service.views.applications import view_application
from optassign.service.views.index import RecordingIndex

HTML = {"Accept": "text/html"}


def test_applications_by_status(service: Running) -> None:
    rows = service.client.get("/v1/history").json()["applications"]
    assert [(row["application"], row["status"]["word"]) for row in rows] == [
        ("payments", "fallback"),
        ("clicks", "warming up"),
        ("orders", "warming up"),
    ]
    orders = rows[2]
    assert orders["waiting"] > 2
    assert orders["next_followup"] < orders["expected_end"]
    assert (orders["standbys_caught_up"], orders["standbys_wanted"]) == (108, 108)
    assert "no connection" in rows[0]["status"]["about"]
    page = service.client.get("/", headers=HTML).text
    assert all(word in page for word in ("orders", "warming up", "108 of 108", "no connection"))
    assert [row["decided_by"] for row in rows] == ["fallback", "Kafka", "optassign"]


def test_counts_search_and_filter(service: Running) -> None:
    """Search and filter work without scripts, and counts stay those of all applications."""

    def list_names(query: str) -> list[str]:
        page = service.client.get(f"/{query}", headers=HTML).text
        listed = [row["application"] for row in service.client.get(f"/v1/history{query}").json()["applications"]]
        assert [name for name in ("payments", "clicks", "orders") if f'href="/applications/{name}"' in page] == [
            name for name in ("payments", "clicks", "orders") if name in listed
        ]
        assert "warming up</span> 2" in page
        return listed

    view = service.client.get("/v1/history").json()
    assert view["counts"] == [["fallback", 1], ["warming up", 2]]
    assert list_names("") == ["payments", "clicks", "orders"]
    assert list_names("?find=ORD") == ["orders"]
    assert list_names("?status=warming%20up") == ["clicks", "orders"]
    assert list_names("?status=warming%20up&find=cl") == ["clicks"]
    assert list_names("?status=stuck") == []
    assert list_names("?find=%3Cb%3E") == []
    assert "&lt;b&gt;" in service.client.get("/?find=%3Cb%3E", headers=HTML).text
    refused = service.client.get("/v1/history?status=bored")
    assert (refused.status_code, refused.json()["where"], refused.json()["found"]) == (400, "status", "bored")


def test_trends_are_those_of_the_rebalances(service: Running) -> None:
    """Application orders has been restoring since its clients joined, so the work decreases."""
    (orders,) = [row for row in service.client.get("/v1/history").json()["applications"] if row["application"] == "orders"]
    listed = service.client.get("/v1/history/orders").json()["rebalances"]
    trend = orders["trend"]
    assert {len(values) for values in trend.values()} == {len(listed)}
    assert trend["to_restore"] == [row["restore_work"] for row in reversed(listed)]
    assert trend["load_most"][-1] == orders["load_most"]
    assert trend["seconds_to_balance"][-1] == pytest.approx(listed[0]["plan_ms"] / 1000)
    assert service.client.get("/", headers=HTML).text.count('<svg class="trend"') == 8, "Kafka tells no work"


def test_names_come_before_process_ids(service: Running) -> None:
    view = service.client.get("/v1/history/orders").json()
    for row in view["holders"]:
        assert row["client"] == row["process_id"] or row["client"].endswith(f" ({row['process_id']})")


def test_links_lead_to_your_runbook_and_dashboard(copied_day: Path, end_of_day: float) -> None:
    links = ("--runbook", "https://docs.example/runbook", "--grafana", "https://grafana.example/d/optassign")
    with run_service_here("--workers", "1", "--recordings", str(copied_day), *links, day=end_of_day) as service:
        assert 'href="https://docs.example/runbook#optassignfallback"' in service.client.get("/", headers=HTML).text
        page = service.client.get("/applications/payments", headers=HTML).text
        assert 'href="https://grafana.example/d/optassign?var-application=payments"' in page
        assert 'href="https://docs.example/runbook#optassignfallback"' in page


def test_status_since(service: Running) -> None:
    """Application orders has been warming up since the last three clients joined, and was at rest before."""
    (orders,) = [row for row in service.client.get("/v1/history").json()["applications"] if row["application"] == "orders"]
    listed = service.client.get("/v1/history/orders").json()["rebalances"]
    joined = next(row for row in listed if row["joined"])
    assert joined["joined"] == 3
    assert orders["status"]["since"] == joined["at"]
    assert not orders["status"]["since_at_least"]


def test_awaited_copies_are_listed(service: Running) -> None:
    view = service.client.get("/v1/history/orders").json()
    restoring = [copy for copy in view["copies"] if copy["restoring"]]
    assert 0 < len(restoring) <= 2 < len(view["copies"])
    assert all(copy["rate"] > 0 and copy["expected_end"] and 0 <= copy["progress"] <= 1 for copy in restoring)
    waiting = [copy for copy in view["copies"] if not copy["restoring"]]
    assert {copy["why"] for copy in waiting} == {"waits for a slot: max.warmup.replicas = 2, all taken"}
    assert max(copy["rebalances"] for copy in waiting) > 5
    rates = [rate["offsets_per_s"] for rate in view["rates"]]
    assert rates == sorted(rates)
    page = service.client.get("/applications/orders", headers=HTML).text
    assert "waits for a slot" in page
    assert restoring[0]["client"].partition(" ")[0] in page


def test_warm_ups_of_kafkas_assignor_are_listed(service: Running) -> None:
    """Kafka's assignor reports no awaited copies: the page lists its warm-ups, and does not call the group complete."""
    view = service.client.get("/v1/history/clicks").json()
    row = view["row"]
    assert (row["status"]["word"], row["waiting"], row["last"]["warmups"]) == ("warming up", 0, 2)
    assert [(copy["role"], copy["restoring"], copy["lag"] > 0) for copy in view["copies"]] == [("warm-up", True, True)] * 2
    page = service.client.get("/applications/clicks", headers=HTML).text
    assert "decided by Kafka" in page
    assert "waits for 2 warm-ups" in page
    assert "tells no plan" in page
    assert "every copy is where it should be" not in page
    assert "every copy is where it should be" in service.client.get("/applications/payments", headers=HTML).text


def test_overdue_copies_are_likely_done_by_now(day: Path) -> None:
    """Without live progress, the page says `by now` for copies that should be restored, and gives no time."""
    index = RecordingIndex(day)
    nothing = {"ended": None, "history": (), "paused": None, "quiet": None, "forget_plan": None, "drains": (), "kept": True}
    frame = {"before": "", "requests": nothing, "may_operate": False, "signed_in": False, "demo": True}

    def show(after_s: float, **held: Any) -> str:
        view = view_application(index, "orders", at + after_s, operator_requests={"orders": held})
        assert view is not None
        return render("application.html", view=view, **frame).decode()

    first = view_application(index, "orders", datetime.now(UTC).timestamp())
    assert first is not None
    assert first.row.expected_end is not None
    at = parse_time(first.row.last.at).timestamp()
    end_s = parse_time(first.row.expected_end).timestamp() - at
    assert end_s > 3_600
    early, later, late = show(60), show(3_600), show(end_s + 1)
    assert "by its rate; " not in show(0)
    assert "by its rate; " in later, "a bar at the last look would stand next to *by now*"
    assert "by now" not in early
    assert later.count(">by now</td>") == sum(copy.expected_end is not None for copy in first.copies) > 0
    assert "<strong>likely by now</strong>" in late
    assert "<strong>likely by now</strong>" not in later
    assert "not while it is paused" in show(60, paused={"by": "Ada", "at": first.now})
    ended = show(60, ended={"by": "Ada", "at": first.now, "expected_at": first.row.last.at})
    assert "not while it is stopped" in ended
    assert "none while it is stopped" in ended


def test_holders_are_listed_by_load(service: Running) -> None:
    """The page lists all clients of the last rebalance, the greatest load first, with links to the reasons of each."""
    view = service.client.get("/v1/history/orders").json()
    row, holders = view["row"], view["holders"]
    assert len(holders) == row["clients"]
    assert sum(holder["active"] for holder in holders) == row["tasks"]
    assert sum(holder["standbys"] for holder in holders) == row["standbys_wanted"]
    assert sum(holder["waited_for"] for holder in holders) == row["waiting"]
    assert (holders[0]["load"], holders[-1]["load"]) == (row["load_most"], row["load_least"])
    assert all(one["load"] >= other["load"] for one, other in itertools.pairwise(holders))
    page = service.client.get("/applications/orders", headers=HTML).text
    first, last = (page.index(f"?client={holder['process_id']}#why") for holder in (holders[0], holders[-1]))
    assert first < last
    there = "/v1/history/" + row["last"]["id"].replace("/", "/rebalances/", 1)
    assert f'href="{there.replace("/v1/history", "/applications")}?client={holders[0]["process_id"]}#why"' in page
    about = service.client.get(there, params={"client": holders[0]["process_id"]}).json()["about"]
    assert about[0].startswith(f"client {holders[0]['process_id']} ")


def test_older_rebalances(service: Running) -> None:
    first = service.client.get("/v1/history/orders").json()
    then = service.client.get("/v1/history/orders", params={"before": first["older"]}).json()
    listed = [row["at"] for row in (*first["rebalances"], *then["rebalances"])]
    assert len(first["rebalances"]) == REBALANCES_ON_A_PAGE, "the day of the demonstration fills more than a page"
    assert len(listed) == len(set(listed)) == len(first["timeline"]["at"])
    assert listed == sorted(listed, reverse=True)


def find_join(service: Running) -> str:
    listed = service.client.get("/v1/history/orders").json()["rebalances"]
    found: str = next(row for row in listed if row["joined"])["id"]
    return found.replace("/", "/rebalances/", 1)


def test_which_rebalance_moved_a_task(service: Running) -> None:
    task = service.client.get(f"/v1/history/{find_join(service)}").json()["moves"][0]["task"]
    view = service.client.get("/v1/history/orders", params={"task": task}).json()["task"]
    assert view["looked_at"] > REBALANCES_ON_A_PAGE
    assert len(view["moves"]) > 1
    for newer, older in zip(view["moves"], view["moves"][1:], strict=False):
        place = newer["id"].replace("/", "/rebalances/", 1)
        about = service.client.get(f"/v1/history/{place}", params={"task": task}).json()["about"]
        assert newer["client"] in about[1]
        assert newer["client"] != older["client"]
    page = service.client.get(f"/applications/orders?task={task}", headers=HTML).text
    assert f"{view['moves'][0]['id'].split('/')[-1]}?task={task}#why" in page
    assert 'role="alert"' in service.client.get("/applications/orders?task=9_9", headers=HTML).text


def test_a_rebalance_and_why(service: Running) -> None:
    place = find_join(service)
    view = service.client.get(f"/v1/history/{place}", params={"task": "0_3"}).json()
    assert len(view["moves"]) == view["row"]["moved_active"] == sum(number for _, number in view["reasons"])
    of_shares = [move["why"] for move in view["moves"] if "share" in move["why"]]
    assert of_shares
    assert all(re.search(r"share: \d+ [a-z ]+( \d)?, share \d+", why) for why in of_shares)
    assert view["about"][0] == "task 0_3 (logged)"
    heat = view["heat"]
    for phase in ("before", "after", "planned"):
        assert sum(sum(row[phase]) for row in heat["rows"]) == view["row"]["tasks"]
    assert all(row["low"] <= row["planned"] <= row["high"] for row in view["counts"])
    assert {goal["name"] for goal in view["goals"]} >= {"restore_work", "active_moves"}
    client = view["counts"][0]["process_id"]
    about = service.client.get(f"/v1/history/{place}", params={"client": client}).json()["about"]
    assert about[0].startswith(f"client {client} ")
    assert service.client.get(f"/v1/history/{place}", params={"task": "9_9"}).json()["not_found"] == "task 9_9"
    page = service.client.get(f"/applications/{place}?task=0_3", headers=HTML).text
    assert "task 0_3 (logged)" in page
    assert page.count('<svg class="heat"') == 3


def test_other_assignors_are_compared(service: Running) -> None:
    place = find_join(service)
    found = service.client.get(f"/v1/history/{place}/compare").json()["assignors"]
    assert {"previous", "recorded", "cp-sat", "high-availability"} <= set(found)
    page = service.client.get(f"/applications/{place}/compare", headers=HTML).text
    assert all(name in page for name in found)


@pytest.mark.parametrize("query", ["", "?anonymised=1"])
def test_the_snapshot_can_be_downloaded(service: Running, day: Path, query: str) -> None:
    place = find_join(service)
    response = service.client.get(f"/applications/{place}/snapshot{query}")
    assert response.headers["content-disposition"].startswith("attachment; ")
    state = ApplicationState.model_validate_json(response.content)
    known = read_recording(day / f"{place.replace('/rebalances', '')}.json.gz").snapshot
    assert len(state.tasks) == len(known.tasks)
    assert (state == known) == (not query)
    assert ("orders" in response.text) == (not query)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"standbys": "2"}, {"standbys_wanted": 216}),
        ({"warmups": "20"}, {"clients": 15}),
        ({"threads": "4", "weights": "0:2.5,1_3:4"}, {"clients": 15}),
        ({"add": "3"}, {"clients": 18}),
        ({"drain": "orders-a1"}, {"clients": 15}),
        ({"lose": "orders-a1, orders-b2"}, {"clients": 13}),
        ({"zone": "zone=b"}, {"clients": 11}),
    ],
    ids=lambda value: " ".join(value),
)
def test_what_if(service: Running, day: Path, query: dict[str, str], expected: dict[str, int]) -> None:
    before = {path: path.read_bytes() for path in list_files(day)}
    view = service.client.get("/v1/history/orders/what-if", params=query).json()
    assert expected.items() <= view["changed"].items()
    assert view["as_it_is"]["clients"] == 15
    assert len(view["changes"]) == len(query) + (query.get("lose", "").count(","))
    assert {path: path.read_bytes() for path in list_files(day)} == before
    if "standbys" in query:
        assert view["changed"]["restore_work"] > view["as_it_is"]["restore_work"]
        # The new standbys take no warm-up slots, but at least the time of their disks.
        assert view["changed"]["ms"] / 1000 > 0.95 * view["changed"]["restoring_s"] > 3_600
    if "drain" in query:
        (row,) = [row for row in view["counts"] if row["process_id"] == "orders-a1"]
        assert row["draining"]
        assert row["planned"] == 0
    page = service.client.get("/applications/orders/what-if", params=query, headers=HTML)
    assert page.status_code == 200
    assert f"{view['changed']['restore_work']:,}" in page.text


def test_the_timeline_of_a_change(service: Running) -> None:
    way = service.client.get("/v1/history/payments/what-if/timeline", params={"standbys": "3"}).json()
    assert way["at_s"] == sorted(way["at_s"])
    assert way["standbys_missing"][0] == 24
    assert way["standbys_missing"][-1] == 0
    assert way["settled_s"] > 0
    assert (way["moves"], way["imbalance"][-1]) == (0, 0)
    drained = service.client.get("/v1/history/payments/what-if/timeline", params={"drain": "payments-1"}).json()
    assert drained["moves"] > 0


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"standbys": "many"}, "standbys"),
        ({"standbys": "-1"}, "standbys"),
        ({"warmups": "0"}, "warmups"),
        ({"weights": "99:2"}, "weights"),
        ({"weights": "0:0"}, "weights"),
        ({"drain": "nobody"}, "drain"),
        ({"lose": "orders-"}, "lose"),
        ({"zone": "zone=z"}, "zone"),
        ({"add": "1000000"}, "add"),
    ],
    ids=str,
)
def test_impossible_changes_are_refused(service: Running, query: dict[str, str], where: str) -> None:
    refused = service.client.get("/v1/history/orders/what-if", params=query)
    assert (refused.status_code, refused.json()["where"]) == (400, where)
    assert {"found", "allowed"} <= set(refused.json())
    page = service.client.get("/applications/orders/what-if", params=query, headers=HTML).text
    assert 'role="alert"' in page
    assert f'name="{where}"' in page


@pytest.mark.parametrize(
    "path",
    [
        "/applications/nobody",
        "/applications/..%2F..%2Fetc",
        "/applications/.clock",
        "/applications/orders/rebalances/2026-01-01/000000.000-0",
        "/applications/orders/rebalances/../x",
        "/static/../views.py",
        "/static/nothing.js",
    ],
)
def test_unknown_pages_are_404(service: Running, path: str) -> None:
    response = service.client.get(path, headers=HTML)
    assert response.status_code == 404
    assert response.headers["content-type"].startswith("text/html")


def test_json_is_as_described(service: Running) -> None:
    description = service.client.get("/openapi.json").json()
    place = find_join(service)
    asked = {
        "/v1/history": "",
        "/v1/history/{application}": "/orders",
        "/v1/history/{application}/rebalances/{day}/{time}": f"/{place}",
        "/v1/history/{application}/what-if": "/orders/what-if?add=1",
        "/v1/history/{application}/what-if/timeline": "/payments/what-if/timeline?add=1",
    }
    for path, suffix in asked.items():
        schema = description["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        value = service.client.get(f"/v1/history{suffix}").json()
        jsonschema.Draft202012Validator({**schema, "components": description["components"]}).validate(value)


def test_pages_are_strict(service: Running) -> None:
    for path in list_pages(service.client):
        response = service.client.get(path, headers=HTML)
        assert response.status_code == 200, path
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert not re.search(
            r"<script(?![^>]* src=\"/static/)|\sstyle=|\son\w+=|\b(?:src|href|action)=\"(?![/#])", response.text
        ), path


def test_a_rebalance_appears_and_disappears(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert "No rebalance has been recorded yet" in service.client.get("/", headers=HTML).text
        with ThreadPoolExecutor(1) as thread, service.hold("read"):
            thread.submit(service.assign, make_state("new one"))
            service.await_held("read")
            service.pass_seconds(3)
            service.let_go("read")
        wait_until(lambda: service.client.get("/v1/history").json()["applications"])
        (row,) = service.client.get("/v1/history").json()["applications"]
        assert row["application"] == "new one"
        assert row["last"]["seconds"] == pytest.approx(3.0)
        assert row["load_most"] >= row["load_least"]
        for path in list_files(tmp_path):
            path.unlink()
        assert service.client.get("/v1/history").json()["applications"] == []


def test_a_damaged_recording_is_skipped(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    path = write_recording(tmp_path, make_state("odd"), now)
    (path.parent / "000000.000-0.json.gz").write_bytes(b"no gzip")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        (row,) = service.client.get("/v1/history").json()["applications"]
        assert row["last"]["at"] == now.isoformat(timespec="milliseconds")
        place = f"/applications/odd/rebalances/{path.parent.name}/000000.000-0"
        assert service.client.get(place, headers=HTML).status_code == 404


def test_without_recordings_the_page_says_so() -> None:
    with run_service_here("--workers", "1") as service:
        assert "optassign serve --recordings DIR" in service.client.get("/", headers=HTML).text
        assert json.loads(service.client.get("/v1/history").content)["recording"] is False


def test_gauges_of_an_application(service: Running) -> None:
    """After a restart the service restores the gauges from its recordings."""
    shown = service.client.get("/v1/history").json()["applications"]
    (orders,) = [row for row in shown if row["application"] == "orders"]
    assert service.read_metric("optassign_application_status", application="orders", status="warming up") == 1
    assert service.read_metric("optassign_application_status", application="orders", status="at rest") == 0
    assert service.read_metric("optassign_application_standbys_wanted", application="orders") == 108
    end = service.read_metric("optassign_application_expected_end_timestamp_seconds", application="orders")
    assert end == pytest.approx(datetime.fromisoformat(orders["expected_end"]).timestamp())

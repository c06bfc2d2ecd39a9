"""Tests of the other pages: health, metrics, comparison and the API description.
They test `optassign.service.http.gateway` and `optassign.service.http.openapi`."""

import json
import math
import re
import socket

import jsonschema
import pytest
from serving import HEADERS, Service, wait_until, write_request_head

from optassign import __version__, assign
from optassign.formats.assignment import TaskAssignment
from optassign.generating import generate
from optassign.judging.comparison import compare
from optassign.recordings.recording import Summary
from optassign.service.http.app import PAGES
from optassign.service.metrics import Metrics


def test_health(service: Service) -> None:
    assert service.client.get("/healthz").json() == {"status": "alive"}
    assert service.client.get("/readyz").json() == {"status": "ready"}


def test_metrics_of_requests(service: Service) -> None:
    def count_requests() -> list[float]:
        labels = [("/v1/assign", "200"), ("/v1/assign", "400"), ("other", "404")]
        return [service.read_metric("optassign_requests_total", endpoint=e, status=s) or 0 for e, s in labels]

    before = count_requests()
    solved = service.read_metric("optassign_solve_seconds_count") or 0
    service.assign(generate("steady", 12, 3, 1, seed=1).model_copy(update={"application": "counted"}))
    service.wait_for("rebalance", application="counted")
    service.assign(b"{}")
    service.client.get("/no/such/page")
    assert count_requests() == [number + 1 for number in before]
    assert service.read_metric("optassign_solve_seconds_count") == solved + 1
    assert service.read_metric("optassign_queue_length") == 0
    assert service.read_metric("optassign_in_flight") == 0
    assert service.read_metric("optassign_info", version=__version__) == 1
    text = service.client.get("/metrics")
    assert text.headers["content-type"].startswith("text/plain; version=")
    assert "/no/such/page" not in text.text


def test_a_caller_that_hangs_up_causes_no_error(service: Service) -> None:
    def count_requests() -> list[float | None]:
        return [
            service.read_metric("optassign_requests_total", endpoint="/v1/assign", status=status) for status in ("499", "500")
        ]

    gone, bugs = count_requests()
    url = service.client.base_url
    with socket.create_connection((url.host, url.port)) as connection:
        connection.sendall(write_request_head("/v1/assign", 100) + b"{")
        wait_until(lambda: service.read_metric("optassign_in_flight") == 1)
    service.wait_for("client_gone", path="/v1/assign")
    wait_until(lambda: service.read_metric("optassign_in_flight") == 0)
    assert count_requests() == [(gone or 0) + 1, bugs]
    assert not service.list_events("bug")


def test_metrics_of_an_application(service: Service) -> None:
    state = generate("scale-out", 60, 6, 1, seed=5).model_copy(update={"application": "measured"})
    report = service.assign(state).json()["report"]
    service.wait_for("rebalance", application="measured")
    (goal,) = [g for g in report["goals"] if (g["stage"], g["name"]) == ("plan", "restore_work")]
    expected = {
        "tasks": 60,
        "clients": 6,
        "restore_work_offsets": goal["value"],
        "restore_work_gap_offsets": goal["value"] - goal["bound"],
        "waiting_copies": len(report["waiting"]),
        "balanced": 0,
        "stalled": 0,
        "followups_to_plan": math.ceil(sum(not copy["slot"] for copy in report["waiting"]) / 2) + 1,
    }
    found = {name: service.read_metric(f"optassign_application_{name}", application="measured") for name in expected}
    assert found == expected


def test_metrics_show_how_fast_clients_restore(service: Service) -> None:
    """The second snapshot is eight seconds later, and its warm-ups have restored a tenth of their lags."""
    state = generate("scale-out", 60, 6, 1, seed=5).model_copy(
        update={"application": "paced", "taken_at": "2026-01-01T00:00:00Z"}
    )
    first = TaskAssignment.model_validate(service.assign(state).json())
    clients = {client.process_id: client for client in state.clients}
    for given in first.clients:
        lags = {task: state.all_tasks[task].changelog_end_offset * 9 // 10 for task in given.warmup}  # type: ignore[operator]
        client = clients[given.process_id]
        clients[given.process_id] = client.model_copy(
            update={"lags": {**client.lags, **lags}, "previous_standby": tuple({*client.previous_standby, *given.warmup})}
        )
    later = state.model_copy(
        update={"clients": tuple(clients.values()), "remembered": first, "taken_at": "2026-01-01T00:00:08Z"}
    )
    pace = service.assign(later).json()["report"]["pace"]
    rates = [row["offsets"] * 1000 // row["ms"] for row in pace["clients"]]
    assert rates
    service.wait_for("rebalance", application="paced", restore_rate_least=min(rates))
    for name, rate in (("least", min(rates)), ("most", max(rates))):
        assert service.read_metric(f"optassign_application_restore_rate_{name}_offsets_per_second", application="paced") == rate
    assert (service.read_metric("optassign_application_seconds_to_plan", application="paced") or 0) > 0


def test_labels_are_bounded() -> None:
    metrics = Metrics("test", most_applications=2)
    summary = Summary(
        tasks=1, clients=1, reason="rest", found_by="", moved_active=0, warmups=0, waiting=0, stalled=False, balanced=True
    )
    for name in ("a", "b", "a", "c"):
        metrics.show_last_answer(name, summary)
    text = metrics.render().decode()
    assert set(re.findall(r'application="(\w+)"', text)) == {"a", "c"}
    gap = re.search(r'restore_work_gap_offsets\{application="a"\} (\S+)', text)
    assert gap is not None
    assert math.isnan(float(gap[1]))


def test_compare(service: Service) -> None:
    state = generate("scale-out", 30, 4, 1, seed=2)
    response = service.client.post(
        "/v1/compare?assignors=greedy,cp-sat", content=state.model_dump_json().encode(), headers=HEADERS
    )
    assert response.status_code == 200, response.text
    found = response.json()
    expected = json.loads(json.dumps(compare(state, ["greedy", "cp-sat"], lambda name: (assign(state, name), 0.0)).as_json()))
    for comparison in (found, expected):
        for column in comparison["assignors"].values():
            column["seconds"] = None
    assert found == expected


@pytest.mark.parametrize(
    ("query", "body", "where"),
    [("?assignors=best", b"{}", "assignors"), ("?assignors=", b"{}", "assignors"), ("", b"{}", "format")],
)
def test_compare_refuses(service: Service, query: str, body: bytes, where: str) -> None:
    response = service.client.post(f"/v1/compare{query}", content=body, headers=HEADERS)
    assert (response.status_code, response.json()["where"]) == (400, where)


def test_the_description_is_complete(service: Service) -> None:
    description = service.client.get("/openapi.json").json()
    of_operators = {
        path for path in description["paths"] if path.startswith(("/v1/history", "/v1/applications"))
    }  # tests of their own
    assert set(description["paths"]) - of_operators == PAGES - {"/openapi.json"}
    assert description["info"]["version"] == __version__
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(description)))
    assert names <= set(description["components"]["schemas"])
    assert "$defs" not in json.dumps(description)
    operation = description["paths"]["/v1/assign"]["post"]
    assert {p["name"] for p in operation["parameters"] if p["required"]} == {"Content-Type", "Optassign-Protocol"}
    assert set(operation["responses"]) == {"200", "default"}
    drain = description["paths"]["/v1/applications/{application}/drains/{client}"]["post"]
    assert drain["responses"].keys() == {"200", "202", "default"}
    (wait,) = (each for each in drain["parameters"] if each["name"] == "wait")
    assert wait["schema"]["anyOf"][0] == {"type": "number", "minimum": 0, "maximum": 3600}


def test_the_examples_of_the_description_are_valid(service: Service) -> None:
    description = service.client.get("/openapi.json").json()

    def check(name: str, value: object) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": description["components"]}
        jsonschema.Draft202012Validator(schema).validate(value)

    operation = description["paths"]["/v1/assign"]["post"]
    request = operation["requestBody"]["content"]["application/json"]["example"]
    check("ApplicationState", request)
    response = service.assign(json.dumps(request).encode(), optassign_mode="shadow")
    check("TaskAssignment", response.json())
    report = {"applied": response.json(), "snapshot": request}
    check("AppliedReport", report)
    assert service.report(json.dumps(report).encode(), "r-1", 1, optassign_mode="shadow").status_code == 200
    refused = service.assign(json.dumps({**request, "tasks": [{"id": 7}]}).encode())
    check("Error", refused.json())


def test_the_description_knows_refusals(service: Service) -> None:
    paths = service.client.get("/openapi.json").json()["paths"]
    about = {path: each for path, each in paths.items() if path.startswith(("/v1/history", "/v1/applications"))}
    assert len(about) > 8
    for path, operations in about.items():
        for method, operation in operations.items():
            assert {"200", "default"} <= operation["responses"].keys(), f"{method} {path}"
    gone = service.client.get("/v1/history/nobody/what-if")
    assert gone.status_code == 404
    assert set(gone.json()) <= set(service.client.get("/openapi.json").json()["components"]["schemas"]["Error"]["properties"])

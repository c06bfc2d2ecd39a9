"""Tests of operators' requests: pause, drain, replan, quiet hours, limits; permissions, persistence, and replays.
They test `optassign.service.operators.operator_requests`, `optassign.service.operators.last_rebalance`,
`optassign.service.operators.requested_options` and `optassign.service.http.request_pages`."""

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from command_line import run_here
from serving import Running, dump_without_times, list_files, make_report, make_state, read_answer, wait_until
from serving_here import ServiceHere, run_service_here

from optassign.assignor import assign
from optassign.cli.commands.service.serve import make_settings
from optassign.cli.parser import make_parser
from optassign.formats.state import ApplicationState
from optassign.recordings.recording import read_recording, replay_recording
from optassign.service.operators import operator_requests
from optassign.service.settings import Settings

OPERATOR, PLUGIN, OTHER = "operator-token-0123456789", "plugin-token-0123456789", "other-token-0123456789"
ASK = {"Optassign-Protocol": "1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("held")


@pytest.fixture(scope="module")
def held(folder: Path) -> Iterator[ServiceHere]:
    with run_service_here("--workers", "1", "--recordings", str(folder), "--idle-followup", "300") as service:
        yield service


def make_resting_state(application: str, **options: int) -> ApplicationState:
    """Make a snapshot of two tasks on two clients, with a standby each, on target; `options` are the application's own."""
    ids = ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002")
    clients = [
        {
            "process_id": ids[number],
            "threads": 1,
            "previous_active": [f"0_{number}"],
            "previous_standby": [f"0_{1 - number}"],
            "lags": {f"0_{number}": -2, f"0_{1 - number}": 0},
        }
        for number in (0, 1)
    ]
    data = {
        "format": 1,
        "application": application,
        "configs": {"num_standby_replicas": 1, "probing_rebalance_interval_ms": 60_000},
        "tasks": [{"id": f"0_{number}", "stateful": True, "logged": True} for number in (0, 1)],
        "clients": clients,
        "options": options,
    }
    return ApplicationState.model_validate_json(json.dumps(data))


def name_first(state: ApplicationState) -> str:
    return state.clients[0].process_id


def test_a_paused_application_moves_nothing_and_goes_on_when_resumed(held: Running) -> None:
    state = make_state("paused-one")
    assert any(client.warmup for client in read_answer(held.assign(state)).clients)
    shown = held.client.post("/v1/applications/paused-one/pause", json={"by": "ann"}, headers=ASK).json()
    assert shown["paused"]["by"].startswith("ann (127.0.0.1")
    answer = read_answer(held.assign(state))
    assert answer.report.termination.reason == "held"
    assert answer.plan is None
    assert not any(client.warmup for client in answer.clients)
    asked = [client.followup_rebalance_ms for client in answer.clients if client.followup_rebalance_ms is not None]
    assert asked == [300_000], "at rest, too, so that a resume takes effect"
    before = {task: c.process_id for c in state.clients for task in c.previous_active}
    assert {task: c.process_id for c in answer.clients for task in c.active} == before
    held.wait_for("rebalance", application="paused-one", hold="paused")
    assert held.read_metric("optassign_application_paused", application="paused-one") == 1
    assert held.client.delete("/v1/applications/paused-one/pause", headers=ASK).json()["paused"] is None
    assert read_answer(held.assign(state)).plan is not None
    assert [event["what"] for event in held.list_events("hold", application="paused-one")] == ["paused", "resumed"]


def test_a_drain_is_followed_until_the_client_has_gone(held: Running) -> None:
    state = make_state("drained-one")
    client = name_first(state)
    held.client.post(f"/v1/applications/drained-one/drains/{client}", headers=ASK)
    # The second client of this shape is new and empty, so it has no task to give up.
    empty = next(c.process_id for c in state.clients if not c.previous_active)
    held.client.post(f"/v1/applications/drained-one/drains/{empty}", headers=ASK)
    answer = read_answer(held.assign(state))
    rows = {row.process_id: row for row in answer.report.drains}
    assert set(rows) == {client, empty}
    assert rows[empty].may_stop
    assert f"client {empty} drains: it has nothing any more, and may stop" in answer.report.notes
    held.wait_for("hold", application="drained-one", what="drain_state", client=empty, state="may_stop")
    shown = held.client.get("/v1/applications/drained-one").json()
    assert {row["client"]: row["state"] for row in shown["drains"]}[empty] == "may_stop"
    held.wait_for("rebalance", application="drained-one")
    assert held.read_metric("optassign_application_may_stop_clients", application="drained-one") == sum(
        row.may_stop for row in rows.values()
    )
    gone = state.model_copy(update={"clients": [c for c in state.clients if c.process_id != empty]})
    read_answer(held.assign(gone))
    held.wait_for("hold", application="drained-one", what="drained", client=empty)
    left = held.client.get("/v1/applications/drained-one").json()["drains"]
    assert [row["client"] for row in left] == [client]
    assert held.client.delete(f"/v1/applications/drained-one/drains/{client}", headers=ASK).json()["drains"] == []
    response = held.client.delete(f"/v1/applications/drained-one/drains/{client}", headers=ASK)
    assert response.status_code == 404
    assert response.json()["where"] == "client"


def test_a_client_that_gets_tasks_without_the_service_may_not_stop(held: Running) -> None:
    """The planner in the jar knows nothing of drains by command, and an empty client attracts tasks."""
    state = make_state("refilled")
    empty = next(c.process_id for c in state.clients if not c.previous_active)
    at = int(held.assign(state).headers["Optassign-Answered-At"])
    held.client.post(f"/v1/applications/refilled/drains/{empty}", headers=ASK)
    held.assign(state)
    held.wait_for("hold", application="refilled", what="drain_state", state="may_stop")
    held.report(make_report(state, assign(state, "greedy")), "r-refilled", at + 60_000)
    held.wait_for("hold", application="refilled", what="drain_state", state="draining")
    assert held.client.post(f"/v1/applications/refilled/drains/{empty}?wait=0", headers=ASK).status_code == 202
    held.report(make_report(state, assign(state, "greedy")), "r-late", at - 60_000)
    shown = held.client.get("/v1/applications/refilled").json()["last_rebalance"]
    assert shown is not None
    assert datetime.fromisoformat(shown).timestamp() > (at - 30_000) / 1000, "a late report is not the last rebalance"


def test_a_request_waits_until_the_client_may_stop(held: ServiceHere) -> None:
    """A preStop hook that can only send requests uses this."""
    state = make_state("awaited-one")
    held.assign(state)
    empty = next(c.process_id for c in state.clients if not c.previous_active)
    page = f"/v1/applications/awaited-one/drains/{empty}"
    at_once = held.client.post(f"{page}?wait=0", headers=ASK)
    assert (at_once.status_code, at_once.json()["drains"][0]["state"]) == (202, "waiting")
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(held.client.post, f"{page}?wait=600", headers=ASK, timeout=600)
        wait_until(lambda: held.read_metric("optassign_in_flight") == 1)
        held.pass_seconds(60)
        assert not waiting.done()
        held.assign(state)
        wait_until(lambda: held.list_events("hold", application="awaited-one", state="may_stop"))
        held.pass_seconds(1)
        found = waiting.result()
    assert (found.status_code, found.json()["drains"][0]["state"]) == (200, "may_stop")
    for wrong in ("-1", "3601", "nan", "soon"):
        refused = held.client.post(f"{page}?wait={wrong}", headers=ASK)
        assert (refused.status_code, refused.json()["where"]) == (400, "wait")


def test_a_cancelled_drain_lets_no_client_stop(held: ServiceHere) -> None:
    state = make_state("cancelled-one")
    held.assign(state)
    page = f"/v1/applications/cancelled-one/drains/{name_first(state)}"
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(held.client.post, f"{page}?wait=600", headers=ASK, timeout=600)
        wait_until(lambda: held.read_metric("optassign_in_flight") == 1)
        held.client.delete(page, headers=ASK)
        held.pass_seconds(1)
        assert waiting.result().status_code == 202
    assert held.client.post(f"{page}?wait=0", headers=ASK).json()["drains"][0]["state"] == "waiting", "a new drain"


def test_a_service_that_stops_waits_for_no_drain(tmp_path: Path) -> None:
    with ThreadPoolExecutor() as pool, run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        state = make_state("stopping")
        service.assign(state)
        page = f"/v1/applications/stopping/drains/{name_first(state)}?wait=3600"
        waiting = pool.submit(service.client.post, page, headers=ASK, timeout=3600)
        wait_until(lambda: service.read_metric("optassign_in_flight") == 1)
        service.begin_to_stop()
        assert waiting.result().status_code == 202


def test_an_unknown_client_cannot_drain(held: Running, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    state = make_state("misspelt")
    held.assign(state)
    held.wait_for("rebalance", application="misspelt")
    client = name_first(state)
    url = ("--url", str(held.client.base_url))
    code, out, err = run_here(capsys, "drain", "misspelt", "NOPE", *url)
    assert (code, out, err.count("\n")) == (4, "", 1)
    assert "no such client in the last rebalance: client: found NOPE; allowed: one of " in err
    assert client in err
    assert held.client.get("/v1/applications/misspelt").json()["drains"] == []
    code, out, err = run_here(capsys, "drain", "misspelt", client, "--by", "ann", *url)
    assert code == 0
    assert err.startswith("the request takes effect at the next rebalance, at the latest at ")
    assert err.endswith("Z; sooner if an instance joins, leaves or restarts\n")
    assert "drain of " in out
    assert f"{client[-10:]}: waiting" in out  # a narrow table breaks the name
    code, out, _ = run_here(capsys, "drain", "misspelt", client, "--cancel", *url)
    assert (code, out) == (0, "Nothing is paused, drained or limited: misspelt.\n")


def test_a_command_warns_of_an_unknown_application(held: Running, capsys: pytest.CaptureFixture[str]) -> None:
    """The application may be paused before its first rebalance, or its name may be wrong."""
    code, out, err = run_here(capsys, "pause", "misspelled", "--url", str(held.client.base_url))
    assert code == 0
    assert "paused" in out
    assert err == "misspelled: this service has answered no rebalance of it; check the name\n"


def test_the_next_rebalance_is_shown(held: Running) -> None:
    state = make_state("next-one")
    shown = held.client.get("/v1/applications/next-one").json()
    assert (shown["last_rebalance"], shown["next_rebalance"], shown["waits_for"]) == (None, None, "")
    held.assign(state)
    held.wait_for("rebalance", application="next-one")
    shown = held.client.get("/v1/applications/next-one").json()
    assert shown["next_rebalance"] > shown["last_rebalance"]
    assert shown["waits_for"] == "copies that are being restored, or wait for a warm-up slot"


def test_requests_say_when_they_take_effect(capsys: pytest.CaptureFixture[str]) -> None:
    """The latest time is the idle follow-up; without one, the next join or leave of an instance."""
    with run_service_here("--workers", "1", "--idle-followup", "600") as service:

        def ask(command: str, application: str) -> tuple[str, str]:
            code, _, err = run_here(capsys, command, application, "--url", str(service.client.base_url))
            assert code == 0
            return err.strip(), service.client.get(f"/v1/applications/{application}").json()["takes_effect"]

        for name, options in (("followed", {}), ("left", {"idle_followup_ms": 0})):
            service.assign(make_resting_state(name, **options))
            service.wait_for("rebalance", application=name)
        due = service.client.get("/v1/applications/followed").json()["next_rebalance"]
        effect = f"at the next rebalance, at the latest at {due}; sooner if an instance joins, leaves or restarts"
        for command in ("pause", "resume", "replan"):
            assert ask(command, "followed") == (f"the request takes effect {effect}", effect)
        effect = "only at the next rebalance, and none is due: start, stop or restart an instance to have one"
        assert ask("pause", "left") == (f"the request takes effect {effect}", effect)
        service.pass_seconds(601)
        effect = f"at the next rebalance, which was due at {due} and has not reached this service"
        assert ask("pause", "followed")[1] == effect


@pytest.mark.parametrize(
    ("seconds", "options", "asked"),
    [
        (None, {}, [600_000]),
        ("20", {}, [20_000]),
        ("100000", {}, [100_000_000]),
        ("0", {}, []),
        (None, {"idle_followup_ms": 0}, []),
        ("0", {"idle_followup_ms": 900_000}, [900_000]),
    ],
)
def test_a_group_at_rest_rebalances_six_times_an_hour_or_as_configured(
    seconds: str | None, options: dict[str, int], asked: list[int]
) -> None:
    """The probing interval, here a minute, does not matter. The application's setting precedes the service's."""
    settings = make_settings(make_parser().parse_args(["serve"] if seconds is None else ["serve", "--idle-followup", seconds]))
    assert seconds is not None or settings.idle_followup == Settings().idle_followup
    with run_service_here("--workers", "1", "--idle-followup", f"{settings.idle_followup:g}") as service:
        answer = read_answer(service.assign(make_resting_state("resting", **options)))
        assert answer.report.termination.reason == "rest"
        assert [c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None] == asked
        event = service.wait_for("rebalance", application="resting")
        assert event["awaited"] == ("operators" if asked else None)


def test_an_hour_at_rest_has_six_rebalances_by_default() -> None:
    """The test uses the service's clock; `FollowupsTest` in java/plugin tests that the plug-in keeps this delay."""
    with run_service_here("--workers", "1", "--idle-followup", f"{Settings().idle_followup:g}") as service:
        rebalances, passed_s = 0, 0.0
        while passed_s < 3_600:
            answer = read_answer(service.assign(make_resting_state("hourly")))
            (delay_ms,) = (c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None)
            service.pass_seconds(delay_ms / 1000)
            rebalances, passed_s = rebalances + 1, passed_s + delay_ms / 1000
        assert rebalances == 6


def test_a_plan_is_forgotten_once(held: Running) -> None:
    state = make_state("forgetful")
    first = read_answer(held.assign(state))
    assert first.plan is not None
    held.client.post("/v1/applications/forgetful/forget-plan", headers=ASK)
    held.assign(state)
    held.wait_for("hold", application="forgetful", what="plan_forgotten")
    assert held.client.get("/v1/applications/forgetful").json()["forget_plan"] is None


def test_recordings_replay_requests_in_force(held: Running, folder: Path) -> None:
    state = make_state("replayed")
    held.client.post("/v1/applications/replayed/pause", headers=ASK)
    sent = read_answer(held.assign(state))
    (path,) = wait_until(lambda: [path for path in list_files(folder) if path.parts[-3] == "replayed"])
    recording = read_recording(path)
    assert recording.snapshot.options.hold == "paused"
    again = replay_recording(recording)
    assert again is not None
    assert dump_without_times(again) == dump_without_times(sent)


def test_requests_in_force_survive_a_restart(tmp_path: Path) -> None:
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        service.client.post("/v1/applications/kept/pause", json={"by": "ann"}, headers=ASK)
        service.client.post("/v1/applications/kept/drains/host:80", json={"by": "bob"}, headers=ASK)
        service.client.post("/v1/applications/kept/forget-plan", json={"by": "bob"}, headers=ASK)
        before = service.client.get("/v1/applications/kept").json()
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert service.client.get("/v1/applications/kept").json() == before
        assert read_answer(service.assign(make_state("kept"))).report.termination.reason == "held"
    (tmp_path / ".operator-requests.json").write_text("{", encoding="utf-8")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert service.wait_for("operator_requests_lost")["file"].endswith(".unreadable")
        found = service.client.get("/v1/applications/kept").json()
        assert (found["paused"], found["drains"]) == (before["paused"], before["drains"])
        assert service.read_metric("optassign_operator_requests_lost") == 1
        assert "could not be read" in service.client.get("/", headers={"Accept": "text/html"}).text
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        found = service.client.get("/v1/applications/kept").json()
        assert (found["paused"], found["drains"]) == (before["paused"], before["drains"]), "they survive a further restart"
    (tmp_path / ".operator-requests.json").write_text("{", encoding="utf-8")
    (tmp_path / ".operator-requests.json.before").write_text("{", encoding="utf-8")
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:
        assert service.client.get("/v1/applications/kept").json()["paused"] is None
        (tmp_path / ".operator-requests.json.unreadable").unlink()
        assert service.read_metric("optassign_operator_requests_lost") == 0


def test_the_last_requests_are_listed(held: ServiceHere) -> None:
    for method, what in (("POST", "pause"), ("DELETE", "pause"), ("POST", "drains/host:80")):
        held.client.request(method, f"/v1/applications/listed/{what}", json={"by": "ann"}, headers=ASK)
    held.assign(make_state("listed"))
    history = held.client.get("/v1/applications/listed").json()["history"]
    assert [(deed["what"], deed["client"]) for deed in history] == [("drain", "host:80"), ("resumed", None), ("paused", None)]
    wait_until(lambda: held.client.get("/v1/history/listed").status_code == 200)
    page = held.client.get("/applications/listed", headers={"Accept": "text/html"}).text
    assert "resumed it" in page


def test_past_ends_make_room_for_new_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_requests, "_MOST_REQUESTS", 2)
    with run_service_here("--workers", "1", "--recordings", str(tmp_path)) as service:

        def request(name: str, what: str) -> int:
            return service.client.post(f"/v1/applications/{name}/{what}", json={"by": "ann"}, headers=ASK).status_code

        assert [request("first", "end"), request("second", "pause"), request("third", "pause")] == [200, 200, 413]
        service.pass_seconds(25 * 3600)
        assert [request("third", "pause"), request("fourth", "pause")] == [200, 413]
        assert service.client.get("/v1/applications/second").json()["paused"] is not None


def test_only_tokens_of_operators_may_operate(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    lines = [f"{OPERATOR} may=operate name=ann orders", f"{PLUGIN} orders", f"{OTHER} may=operate payments"]
    tokens.write_text("\n".join(lines), encoding="utf-8")
    with run_service_here("--workers", "1", "--token-file", str(tokens)) as service:

        def ask(method: str, token: str, page: str, **headers: str) -> tuple[int, dict[str, object]]:
            response = service.client.request(
                method, f"/v1/applications{page}", headers={"Authorization": f"Bearer {token}", **headers}
            )
            return response.status_code, response.json()

        status, shown = ask("POST", OPERATOR, "/orders/pause", **ASK)
        assert (status, shown["paused"]["by"]) == (200, "ann")  # type: ignore[index]
        for token in (PLUGIN, OTHER):
            assert ask("DELETE", token, "/orders/pause", **ASK)[0] == 403
        assert ask("GET", PLUGIN, "/orders")[1]["paused"] is not None
        assert ask("GET", OTHER, "/orders")[0] == 403
        assert ask("GET", OTHER, "")[1] == {"applications": []}
        assert ask("DELETE", "wrong-token-0123456789", "/orders/pause", **ASK)[0] == 401
        # A page of another site cannot send this header.
        status, error = ask("DELETE", OPERATOR, "/orders/pause")
        assert (status, error["where"]) == (400, "Optassign-Protocol")
        assert ask("GET", OPERATOR, "/orders")[1]["paused"] is not None


def test_quiet_hours_and_limits_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "applications.toml"
    limits = '[[applications.night.limits]]\nkind = "most_active_moves"\nmost = 3\n'
    file.write_text(f'[applications.night]\nquiet_hours = ["00:00-24:00"]\n{limits}', encoding="utf-8")
    with run_service_here("--workers", "1", "--applications", str(file)) as service:
        answer = read_answer(service.assign(make_state("night")))
        assert answer.report.termination.reason == "held"
        delays = [c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None]
        assert len(delays) == 1
        assert delays == [3_601_000], "an hour at a time, as quiet hours may be shortened"
        shown = service.client.get("/v1/applications/night").json()
        assert shown["quiet"]["now"]
        assert shown["limits"] == [{"kind": "most_active_moves", "most": 3}]
        assert not shown["kept"]
        file.write_text("[applications.night]\n", encoding="utf-8")
        service.await_look("applications_read")
        assert read_answer(service.assign(make_state("night"))).report.termination.reason != "held"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[applications.a]\nquiet_hours = ['25:00-26:00']", "25:00-26:00"),
        ("[applications.a]\nquiet_hours = ['22:00-06:00']\ntime_zone = 'Mars'", "Mars"),
        ("[applications.a]\nquite_hours = []", "quite_hours"),
        ("[[applications.a.limits]]\nkind = 'most_copies'", "most"),
        ("applications = 7", "7"),
    ],
)
def test_a_bad_file_is_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, found: str
) -> None:
    file = tmp_path / "applications.toml"
    file.write_text(text, encoding="utf-8")
    code, _, error = run_here(capsys, "serve", "--applications", str(file))
    assert code == 2
    assert found in error
    assert len(error.splitlines()) == 1


def test_bad_requests(held: Running) -> None:
    post = held.client.post
    assert post("/v1/applications/a/pause", content=b"{", headers=ASK).status_code == 400
    assert post("/v1/applications/a/pause", json={"by": ""}, headers=ASK).json()["where"] == "by"
    assert post("/v1/applications/a/pause", content=b"x" * 5000, headers=ASK).status_code == 413
    assert post(f"/v1/applications/{'a' * 300}/pause", headers=ASK).json()["where"] == "application"
    assert post("/v1/applications/a/nothing", headers=ASK).status_code == 404
    assert held.client.put("/v1/applications/a/pause", headers=ASK).status_code == 405
    assert not held.list_events("bug")


def test_concurrent_requests_are_all_kept(held: Running) -> None:
    def drain(number: int) -> None:
        held.client.post(f"/v1/applications/crowd/drains/c{number}", headers=ASK)

    threads = [threading.Thread(target=drain, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(held.client.get("/v1/applications/crowd").json()["drains"]) == 20


def test_responses_fit_the_description(held: Running) -> None:
    held.client.post("/v1/applications/described/pause", headers=ASK)
    description = held.client.get("/openapi.json").json()
    schema = {"$ref": "#/components/schemas/AllRequests", "components": description["components"]}
    jsonschema.validate(held.client.get("/v1/applications").json(), schema)
    assert {"post", "delete"} <= description["paths"]["/v1/applications/{application}/pause"].keys()


def test_the_commands(capsys: pytest.CaptureFixture[str], held: Running) -> None:
    url = ("--url", str(held.client.base_url))

    def ask(*arguments: str) -> Any:
        code, output, error = run_here(capsys, *arguments, *url, "--format", "json")
        assert code == 0, error
        return json.loads(output)

    assert ask("pause", "typed", "--by", "ann")["paused"]["by"].startswith("ann")
    assert ask("drain", "typed", "box/7")["drains"][0]["client"] == "box/7"
    assert ask("replan", "typed")["forget_plan"] is not None
    words = re.sub(r"[^\w/:]+", " ", run_here(capsys, "status", "typed", *url)[1])
    for word in ("typed", "paused", "box/7:", "waiting", "ann"):
        assert word in words.split(), words
    assert ask("drain", "typed", "box/7", "--cancel")["drains"] == []
    assert "typed" in {one["application"] for one in ask("status")["applications"]}
    assert ask("resume", "typed")["paused"] is None
    assert ask("replan", "typed", "--cancel")["forget_plan"] is None
    code, _, error = run_here(capsys, "drain", "typed", "box/7", "--cancel", *url)
    assert code == 4
    assert "no such drain: client: found box/7" in error
    code, _, error = run_here(capsys, "status", "--url", "http://127.0.0.1:9")
    assert code == 3
    assert len(error.splitlines()) == 1

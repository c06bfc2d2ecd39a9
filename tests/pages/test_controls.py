"""Tests of pause, drain and replan on the page of an application: permissions, and the page afterwards."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from pages import CONTROLS, OPERATOR, OWNER
from serving import MOST_SECONDS, Running
from serving_here import run_service_here


@pytest.fixture(scope="module")
def operated(copied_day: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    tokens = tmp_path_factory.mktemp("operators") / "tokens"
    tokens.write_text(f"{OPERATOR}\n{OWNER} may=operate name=Ada\n", encoding="ascii")
    with run_service_here("--workers", "1", "--recordings", str(copied_day), "--token-file", str(tokens)) as started:
        yield started


@contextmanager
def log_in(service: Running, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.client.base_url, headers={"Accept": "text/html"}, timeout=MOST_SECONDS) as browser:
        assert browser.post("/login", data={"token": token}).status_code == 303
        yield browser


def find_application(browser: httpx.Client) -> str:
    rows = browser.get("/v1/history").json()["applications"]
    return str(sorted(row["application"] for row in rows)[0])


def find_status(browser: httpx.Client, application: str) -> str:
    rows = browser.get("/v1/history").json()["applications"]
    return next(str(row["status"]["word"]) for row in rows if row["application"] == application)


def test_an_operator_pauses_drains_and_forgets(operated: Running) -> None:
    with log_in(operated, OWNER) as browser:
        application = "orders"  # assigned by the service, which knows the clients of such applications only
        page = f"/applications/{application}"
        before = find_status(browser, application)
        assert before != "paused"
        assert CONTROLS in browser.get(page).text
        told = operated.client.get(f"/v1/applications/{application}", headers={"Authorization": f"Bearer {OWNER}"}).json()
        assert f"A request takes effect {told['takes_effect']}." in browser.get(page).text

        def ask(deed: str, **more: str) -> str:
            answer = browser.post(f"{page}/requests", data={"application": application, "do": deed, "by": "Grace", **more})
            assert (answer.status_code, answer.headers["location"]) == (303, page)
            return browser.get(page).text

        text = ask("pause")
        assert "<strong>Paused</strong> by <bdi>Grace (token Ada)</bdi>" in text
        assert find_status(browser, application) == "paused"
        assert "<strong>Replan</strong>, requested by" in ask("forget")
        misspelt = {"application": application, "do": "drain", "client": "box-1"}
        refused = browser.post(f"{page}/requests", data=misspelt)
        assert refused.status_code == 404
        assert "no such client in the last rebalance" in refused.text
        real = browser.get(f"/v1/history/{application}").json()["client_names"][0]
        assert f"<bdi>{real}</bdi>, requested by" in ask("drain", client=real)
        held = operated.client.get(f"/v1/applications/{application}", headers={"Authorization": f"Bearer {OWNER}"}).json()
        assert (held["paused"]["by"], [drain["client"] for drain in held["drains"]]) == ("Grace (token Ada)", [real])

        # Each request has its own form, so cancelling it needs no input.
        assert f'<input type="hidden" name="client" value="{real}"><button name="do" value="undrain">' in browser.get(page).text
        (known,) = re.findall(rf"<bdi>{real}</bdi>, requested by.*?</time>: ([^.]*)", browser.get(page).text)
        assert known == "waits for the next rebalance"
        assert 'value="undrain"' not in ask("undrain", client=real)
        assert 'value="keep"' not in ask("keep")
        assert "<strong>Paused</strong>" not in ask("resume")
        assert find_status(browser, application) == before


def test_a_reader_sees_no_form_and_is_refused(operated: Running) -> None:
    with log_in(operated, OPERATOR) as browser:
        application = find_application(browser)
        assert CONTROLS not in browser.get(f"/applications/{application}").text
        holding = {"Authorization": f"Bearer {OWNER}", "Optassign-Protocol": "1"}
        paused = operated.client.post(f"/v1/applications/{application}/pause", headers=holding)
        assert paused.status_code == 200
        assert "<strong>Paused</strong>" in (text := browser.get(f"/applications/{application}").text)
        assert "/requests" not in text
        operated.client.delete(f"/v1/applications/{application}/pause", headers=holding)
        answer = browser.post(f"/applications/{application}/requests", data={"application": application, "do": "pause"})
        assert answer.status_code == 403
        assert find_status(browser, application) != "paused"


@pytest.mark.parametrize(
    ("form", "headers", "status"),
    [
        ({"do": "pause"}, {"Origin": "https://evil.example"}, 403),
        ({"do": "pause"}, {"Sec-Fetch-Site": "cross-site"}, 403),
        ({"do": "destroy"}, {}, 400),
        ({"do": "drain", "client": ""}, {}, 400),
        ({"do": "pause", "by": "a\u202eb"}, {}, 400),
    ],
)
def test_invalid_forms_are_refused(operated: Running, form: dict[str, str], headers: dict[str, str], status: int) -> None:
    with log_in(operated, OWNER) as browser:
        application = find_application(browser)
        answer = browser.post(
            f"/applications/{application}/requests", data={"application": application, **form}, headers=headers
        )
        assert answer.status_code == status
        assert find_status(browser, application) != "paused"

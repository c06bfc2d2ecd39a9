"""Tests of access to the pages: tokens, cookies, forms and hostile names."""

import re
import time
from pathlib import Path

import httpx
import pytest
from pages import HOSTILE, OPERATOR, READER, list_pages
from serving import MOST_SECONDS, Running, make_state
from serving_here import run_service_here

HTML = {"Accept": "text/html"}


def open_browser(service: Running) -> httpx.Client:
    """Return a client with its own cookies."""
    return httpx.Client(base_url=service.client.base_url, headers=HTML, timeout=MOST_SECONDS)


def log_in(browser: httpx.Client, token: str, **more: str) -> httpx.Response:
    return browser.post("/login", data={"token": token, **more})


def test_without_a_token_there_is_a_form(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        response = browser.get("/applications/x?task=0_1")
        assert (response.status_code, response.headers["location"]) == (303, "/login?next=%2Fapplications%2Fx%3Ftask%3D0_1")
        assert browser.get("/v1/history").status_code == 401
        assert browser.get("/", headers={"HX-Request": "true"}).headers["hx-redirect"].startswith("/login")
        form = browser.get(response.headers["location"])
        assert 'value="/applications/x?task=0_1"' in form.text
        assert browser.get("/static/style.css").status_code == 200


def test_logging_in_and_out(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        response = log_in(browser, OPERATOR, next="/applications/harmless")
        assert (response.status_code, response.headers["location"]) == (303, "/applications/harmless")
        cookie = response.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Secure" not in cookie  # without TLS
        assert OPERATOR not in cookie
        assert browser.get("/applications/harmless").status_code == 200
        assert browser.get("/v1/history").status_code == 200
        assert browser.post("/logout").status_code == 303
        assert browser.get("/").status_code == 303


def test_behind_tls_the_cookie_is_secure_and_after_half_a_day_one_logs_in_again(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(OPERATOR + "\n", encoding="ascii")
    with run_service_here("--workers", "1", "--token-file", str(tokens), "--behind-proxy") as service:
        with open_browser(service) as browser:
            cookie = log_in(browser, OPERATOR).headers["set-cookie"]
        assert "Secure" in cookie

        def look() -> int:
            with open_browser(service) as browser:  # separate connections, since the service ends idle ones
                return browser.get("/", headers={"Cookie": cookie.partition(";")[0]}).status_code

        assert look() == 200
        service.pass_seconds(12 * 3600 - 60)
        assert look() == 200
        service.pass_seconds(120)
        assert look() == 303


@pytest.mark.parametrize("token", ["", "wrong", OPERATOR + "x", "é" * 20, OPERATOR.upper()])
def test_a_wrong_token(guarded: Running, token: str) -> None:
    with open_browser(guarded) as browser:
        response = log_in(browser, token)
        assert response.status_code == 401
        assert "set-cookie" not in response.headers
        assert "not valid" in response.text
    guarded.wait_for("login_failed", path="/login")


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_logging_in_leads_to_own_pages_only(guarded: Running, target: str) -> None:
    with open_browser(guarded) as browser:
        assert log_in(browser, OPERATOR, next=target).headers["location"] == "/"


def test_a_forged_cookie(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        good = log_in(browser, OPERATOR).cookies["optassign"]
        until, _, signature = good.partition(".")
        for forged in (
            f"{int(until) + 1}.{signature}",
            f"{until}.{signature[:-1]}",
            f"{int(time.time()) - 1}.{signature}",
            "x",
            "",
        ):
            browser.cookies.clear()
            browser.cookies.set("optassign", forged)
            assert browser.get("/").status_code == 303, forged


def test_a_token_for_one_application_shows_no_other(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        log_in(browser, READER)
        assert [row["application"] for row in browser.get("/v1/history").json()["applications"]] == ["harmless"]
        assert browser.get("/applications/harmless").status_code == 200
        for page in list_pages(
            guarded_client := httpx.Client(
                base_url=guarded.client.base_url, headers={"Authorization": f"Bearer {OPERATOR}"}, timeout=MOST_SECONDS
            )
        ):
            status = browser.get(page).status_code
            assert status == (200 if page == "/" or page.startswith("/applications/harmless") else 403), page
        guarded_client.close()
        assert browser.get("/applications/nobody").status_code == 403


def test_a_cookie_is_no_token_for_plug_ins(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        log_in(browser, OPERATOR)
        headers = {"Content-Type": "application/json", "Optassign-Protocol": "1"}
        content = make_state("harmless").model_dump_json().encode()
        assert browser.post("/v1/assign", content=content, headers=headers).status_code == 401


def test_a_form_from_another_site_is_refused(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            response = browser.post("/login", data={"token": OPERATOR}, headers=headers)
            assert response.status_code == 403
            assert "set-cookie" not in response.headers


def test_a_long_form_is_refused(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        many = browser.post("/login", data={f"field{number}": "x" for number in range(21)})
        assert (many.status_code, "too many fields" in many.text) == (400, True)
        assert log_in(browser, "x" * 10_000).status_code == 413
        assert browser.post("/login", json={"token": OPERATOR}).status_code == 415


def test_without_tokens_only_local_host_names_are_allowed(service: Running) -> None:
    """The host name of another site's page may resolve to this machine (DNS rebinding)."""
    assert service.client.get("/", headers={**HTML, "Host": "evil.example"}).status_code == 403
    for host in ("localhost:8924", "127.0.0.1", "[::1]:8924"):
        assert service.client.get("/", headers={**HTML, "Host": host}).status_code == 200
    foreign = {"Host": "evil.example", "User-Agent": "Mozilla/5.0", "Optassign-Protocol": "1"}
    assert service.client.get("/v1/history", headers=foreign).status_code == 403
    assert service.client.post("/v1/applications/orders/pause", headers=foreign).status_code == 403
    assert service.client.get("/v1/history", headers={"Host": "assign.example"}).status_code == 200, "a plug-in's alias"


def test_hostile_names_are_escaped(guarded: Running) -> None:
    with open_browser(guarded) as browser:
        log_in(browser, OPERATOR)
        pages = list_pages(browser)
        assert len(pages) == 1 + 4 * (len(HOSTILE) + 1)
        for page in pages:
            response = browser.get(page)
            assert response.status_code == 200, page
            text = re.sub(r' value="[^"]*"', "", response.text)  # a form sends the name unchanged
            for evil in ("<script>share", "<b>w", "\u202e", "\u2066", 'onmouseover="share', ">49<"):
                assert evil not in text, (page, evil)
        assert "\\u202egnp.exe" in browser.get("/").text

"""Tests of every page and control in a real browser: in light and dark, wide and narrow, with scripts and without."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pages import CONTROLS, OPERATOR, OWNER, list_pages, serve_hostile
from playwright.sync_api import Browser, Page, expect
from serving import Running
from serving_here import run_service_here

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
_SECONDS = 300_000
"""Milliseconds for each wait: generous, since the machine may be busy."""
SCRIPTS_OR_NOT = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "without scripts"])
SCRIPTS = pytest.mark.parametrize(
    "scripts", [True, pytest.param(False, marks=pytest.mark.long)], ids=["scripts", "without scripts"]
)
"""Run a test with scripts, and without scripts only in the second ring."""
expect.set_options(timeout=_SECONDS)  # by default five seconds, too few for a comparison on a busy machine


@pytest.fixture(scope="module")
def service(copied_day: Path, end_of_day: float) -> Iterator[Running]:
    with run_service_here("--workers", "1", "--recordings", str(copied_day), day=end_of_day) as started:
        yield started


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield a service with hostile names and two tokens, one of which may operate."""
    with serve_hostile(tmp_path_factory, OPERATOR, f"{OWNER} may=operate name=Ada") as started:
        yield started


@contextmanager
def open_page(browser: Browser, service: Running, **options: Any) -> Iterator[Page]:
    """Yield a page of a new browser context. Its warnings, errors and requests to other hosts fail the test."""
    complaints: list[str] = []
    context = browser.new_context(base_url=str(service.client.base_url), **options)
    page = context.new_page()
    page.set_default_timeout(_SECONDS)
    page.on("console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if not is_own(request.url, service) else None)
    try:
        yield page
    finally:
        context.close()
    assert complaints == []


def is_own(url: str, service: Running) -> bool:
    return url.startswith((str(service.client.base_url), "data:", "blob:", "about:"))


def find_serious(page: Page, axe: str) -> list[str]:
    """Return the violations that axe-core calls serious or critical."""
    page.evaluate(axe)  # in an isolated world: the page's policy forbids this script
    found = page.evaluate("axe.run()")
    return [
        f"{violation['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
        for violation in found["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:3]
    ]


@pytest.mark.parametrize(
    ("size", "colours"),
    [
        pytest.param(WIDE, "light", id="wide and light"),
        pytest.param(WIDE, "dark", id="wide and dark", marks=pytest.mark.long),
        pytest.param(NARROW, "light", id="narrow and light", marks=pytest.mark.long),
        pytest.param(NARROW, "dark", id="narrow and dark", marks=pytest.mark.long),
    ],
)
def test_every_page(browser: Browser, service: Running, axe: str, colours: str, size: dict[str, int]) -> None:
    paths = [*list_pages(service.client), "/applications/payments/what-if?standbys=3", "/login", "/applications/nobody"]
    with open_page(browser, service, color_scheme=colours, viewport=size) as page:
        for path in paths:
            if path == "/applications/nobody":
                continue  # the console reports its status 404; tests/pages has the test
            page.goto(path)
            if "?standbys" in path:
                page.locator("#timeline").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} is wider than the screen"
            assert find_serious(page, axe) == [], path


@pytest.mark.long
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_page_without_scripts(browser: Browser, service: Running, size: dict[str, int]) -> None:
    with open_page(browser, service, java_script_enabled=False, viewport=size) as page:
        for path in list_pages(service.client):
            page.goto(path)
            expect(page.locator("h1")).to_be_visible()
        page.goto("/applications/orders")
        assert page.locator("svg.steps").count() == 4


@pytest.mark.long
@SCRIPTS_OR_NOT
def test_following_links_from_the_first_page_to_the_reasons(browser: Browser, service: Running, scripts: bool) -> None:
    with open_page(browser, service, java_script_enabled=scripts) as page:
        page.goto("/")
        page.get_by_role("link", name="orders", exact=True).click()
        expect(page.get_by_role("heading", name="Copies it waits for")).to_be_visible()
        page.get_by_role("link", name="Older rebalances").click()
        page.locator("tbody th a").first.click()
        page.get_by_role("textbox", name="Task such as").fill("0_1")
        page.get_by_role("button", name="Explain").click()
        expect(page.locator("pre").first).to_contain_text("task 0_1 (logged)")
        page.locator("table th a").first.click()
        expect(page.locator("pre").first).to_contain_text("client ")
        page.get_by_role("link", name="The one before").click()
        page.get_by_role("link", name="Ask them now").click()
        expect(page.get_by_role("table", name="The same snapshot under each")).to_contain_text("high-availability")
        assert ("/compare" in page.url) == (not scripts)


@pytest.mark.long
@SCRIPTS_OR_NOT
def test_trying_a_change(browser: Browser, service: Running, scripts: bool) -> None:
    with open_page(browser, service, java_script_enabled=scripts) as page:
        page.goto("/applications/payments")
        page.get_by_role("link", name="What if").click()
        page.get_by_label("Standbys of each task").fill("3")
        page.get_by_label("Clients added").fill("1")
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_role("heading", name="num.standby.replicas = 3, 1 client added")).to_be_visible()
        if not scripts:
            page.get_by_role("link", name="Simulate it").click()
        expect(page.locator("#timeline")).to_contain_text("The last rebalance or restoration ends after")
        if scripts:
            expect(page.locator("#timeline .uplot").first).to_be_visible()
        page.goto("/applications/payments/what-if?standbys=many")
        expect(page.get_by_role("alert")).to_contain_text("an integer from 0 to 20")
        assert page.get_by_label("Standbys of each task").input_value() == "many"
        page.goto("/applications/orders/what-if")
        page.get_by_label("A zone lost").select_option("zone=b")
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_role("heading", name="all clients with zone=b lost")).to_be_visible()


@pytest.mark.long
def test_downloading_snapshots(browser: Browser, service: Running) -> None:
    with open_page(browser, service) as page:
        page.goto("/applications/payments")
        page.locator("tbody th a").first.click()
        for name in ("The snapshot", "the snapshot without its names"):
            with page.expect_download() as download:
                page.get_by_role("link", name=name, exact=True).click()
            assert b'"tasks"' in Path(download.value.path()).read_bytes()


@pytest.mark.long
def test_it_renews_itself_and_keeps_the_focus(browser: Browser, service: Running) -> None:
    with open_page(browser, service) as page:
        page.goto("/")
        page.locator("#a-2").focus()
        with page.expect_response(lambda response: response.request.headers.get("hx-request") == "true"):
            pass  # the page renews itself after ten seconds
        page.wait_for_function("document.activeElement.id === 'a-2'")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_column_of_the_first_page_is_cut(browser: Browser, service: Running, size: dict[str, int]) -> None:
    """Each application is a card on a phone, with all columns of a wide screen."""
    with open_page(browser, service, viewport=size) as page:
        page.goto("/")
        beyond = page.evaluate("[...document.querySelectorAll('.wide')].map((one) => one.scrollWidth - one.clientWidth)")
        assert max(beyond) <= 0, f"pixels beyond the width of each table: {beyond}"
        assert page.evaluate("[...document.querySelectorAll('.cards td')].every((one) => one.offsetHeight > 0)")
        page.get_by_label("Part of a name").fill("pay")
        page.get_by_role("button", name="Find").click()
        expect(page.locator(".cards tbody tr")).to_have_count(1)
        page.get_by_role("link", name="warming up").click()
        expect(page.locator(".note")).to_contain_text("pay")


def test_by_keyboard(browser: Browser, service: Running) -> None:
    with open_page(browser, service) as page:
        page.goto("/")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        for _ in range(20):  # counts by status, search and filter come first
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "a-1":
                break
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("payments")


@pytest.mark.long
@SCRIPTS_OR_NOT
def test_logging_in_with_hostile_names_behind_it(browser: Browser, guarded: Running, axe: str, scripts: bool) -> None:
    guarded.client.headers["Authorization"] = f"Bearer {OPERATOR}"
    with open_page(browser, guarded, java_script_enabled=scripts, viewport=NARROW) as page:
        page.goto("/")
        page.get_by_label("Token").fill(OPERATOR)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Applications")
        for path in list_pages(guarded.client):
            page.goto(path)
            expect(page.locator("h1")).to_be_visible()
            if scripts:
                assert page.evaluate("window.hacked") is None
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
                assert find_serious(page, axe) == [], path
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


@SCRIPTS
def test_pausing_draining_and_replanning(browser: Browser, guarded: Running, axe: str, scripts: bool) -> None:
    with open_page(browser, guarded, java_script_enabled=scripts, viewport=NARROW) as page:
        page.goto("/")
        page.get_by_label("Token").fill(OWNER)
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("link", name="harmless", exact=True).click()
        held = page.locator("ul.requests li")
        expect(held).to_have_count(0)
        client = page.locator("#drainable option").first.get_attribute("value") or ""
        assert "window.hacked" in client

        def ask(button: str, client: str = "") -> None:
            page.get_by_text(CONTROLS).click()
            page.get_by_label("Your name").fill("Grace")
            page.get_by_label("Client to drain").fill(client)
            if scripts:
                assert find_serious(page, axe) == [], f"before {button}"
            page.get_by_role("button", name=button, exact=True).click()
            page.locator("details.controls:not([open])").wait_for()  # the page has been loaded again

        ask("Pause")
        expect(held).to_contain_text(["Paused by Grace (token Ada)"])
        ask("Replan")
        ask("Drain the client", client)
        expect(held).to_contain_text(["Paused by", "Replan, requested by", f"Drain of {client}, requested by Grace"])
        if scripts:
            assert page.evaluate("window.hacked") is None
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for left, button in ((2, "Cancel the drain"), (1, "Keep the target assignment"), (0, "Resume")):
            held.get_by_role("button", name=button, exact=True).click()  # the button is in the list, and needs no input
            expect(held).to_have_count(left)
        page.get_by_text(CONTROLS).click()
        page.get_by_role("button", name="Drain the client", exact=True).click()  # no client is named: the browser asks for it
        expect(page.get_by_label("Client to drain")).to_be_focused()
        expect(held).to_have_count(0)

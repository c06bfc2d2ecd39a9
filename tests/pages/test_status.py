"""Tests of `optassign status`, of what-if by the service, and of the demonstration.
They test `optassign.cli.commands.service.service_client`, `optassign.cli.commands.service.status` and
`optassign.service.demo`."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from command_line import run_here
from pages import OPERATOR
from rich.console import Console
from serving import Running, Service, wait_until

from optassign.cli.show.status_tables import render_status

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command at 80 columns, and returns exit code, standard output and standard error."""
    monkeypatch.setenv("COLUMNS", "80")
    return partial(run_here, capsys)


def test_status_of_all_and_of_one(service: Running, run: Run) -> None:
    url = ("--url", str(service.client.base_url))
    code, out, err = run("status", *url)
    assert (code, err) == (0, "")
    lines = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "fallback!" in lines["payments"]
    assert "warming up" in lines["orders"]
    assert "108/108" in lines["orders"]
    assert max(map(len, out.splitlines())) <= 80
    assert "In shadow mode, so that Kafka's assignor decides: clicks" in out
    _, out, _ = run("status", "orders", *url)
    assert "payments" not in out
    assert "shadow" not in out
    found = json.loads(run("status", "orders", "--json", *url)[1])
    assert [each["application"] for each in found["applications"]] == ["orders"]
    assert found["applications"][0]["state"]["status"]["word"] == "warming up"
    assert found["applications"][0]["requests"]["paused"] is None
    assert found["applications"][0]["copies"] == service.client.get("/v1/history/orders").json()["copies"]
    shown = [re.split(" {2,}", line)[:2] for line in out.partition("The follow-up waits for:")[2].splitlines()]
    assert all([copy["task"], copy["client"]] in shown for copy in found["applications"][0]["copies"])
    assert max(map(len, out.splitlines())) <= 80


def test_status_says_how_many_applications_it_does_not_list(service: Running, run: Run) -> None:
    found = json.loads(run("status", "--json", "--url", str(service.client.base_url))[1])
    assert found["more"] == 0
    console = Console(width=80, file=io.StringIO(), highlight=False)
    for part in render_status({**found, "more": 3}, 80):
        console.print(part)
    assert "3 more applications are not listed" in console.file.getvalue()  # type: ignore[attr-defined]


def test_status_of_an_unknown_application_says_so(service: Running, run: Run) -> None:
    code, out, err = run("status", "nothing-like-that", "--url", str(service.client.base_url))
    assert (code, out) == (4, "")
    assert "the service knows no application 'nothing-like-that'" in err


def test_a_follow_up_whose_time_is_over_is_due(service: Running, run: Run) -> None:
    """An overdue follow-up has not happened, so the text does not say `ago`."""
    found = json.loads(run("status", "orders", "--json", "--url", str(service.client.base_url))[1])
    due = datetime.fromisoformat(found["applications"][0]["state"]["next_followup"])

    def draw(after_s: float) -> str:
        console = Console(width=120, file=io.StringIO(), highlight=False)
        for part in render_status({**found, "now": (due + timedelta(seconds=after_s)).isoformat()}, 120):
            console.print(part)
        return str(console.file.getvalue())  # type: ignore[attr-defined]

    assert "in 32 s" in draw(-32)
    late = draw(32)
    assert "due 32 s" in late
    assert "32 s ago" not in late


def test_status_of_hostile_names(guarded: Running, run: Run, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(OPERATOR, encoding="ascii")
    code, out, _ = run("status", "--url", str(guarded.client.base_url), "--token-file", str(token))
    assert code == 0
    assert "\u202e" not in out
    assert "<script>" in out  # a terminal does not run it


def test_commands_without_a_service_end_with_3_and_one_line(run: Run) -> None:
    for command in (["status"], ["pause", "orders"], ["drain", "orders", "orders-1"]):
        code, _, err = run(*command, "--url", "http://127.0.0.1:9")
        assert (code, err.count("\n")) == (3, 1)
        assert "no service answers at http://127.0.0.1:9" in err


def test_what_if_of_an_application_of_the_service(service: Running, run: Run) -> None:
    url = ("--url", str(service.client.base_url))
    code, out, err = run("what-if", "orders", "--add", "1", *url)
    assert (code, err) == (0, "")
    assert "1 client added" in out
    code, _, err = run("what-if", "nothing-like-that", "--add", "1", *url)
    assert code == 4
    assert "no such application" in err


def test_the_demonstration(demonstration: Service, day: Path) -> None:
    """A separate process makes the pages, and may be late on a busy machine. `day` is a copy, so the service may end."""
    folder = Path(demonstration.wait_for("demo")["folder"])
    wait_until(lambda: demonstration.client.get("/").status_code == 200)
    assert len(demonstration.client.get("/v1/history").json()["applications"]) == 3
    assert "A demonstration" in demonstration.client.get("/").text
    assert folder.exists()
    assert demonstration.stop() == 0
    assert not folder.exists()


def test_a_demonstration_has_its_own_recordings(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "optassign.cli", "serve", "--demo", "--recordings", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--demo with --recordings" in done.stderr

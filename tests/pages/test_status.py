"""Tests of `optassign status`, of what-if by the service, and of the demonstration.
They test `optassign.cli.commands.service.service_client`, `optassign.cli.commands.service.status` and
`optassign.service.demo`."""

import io
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

from pages import OPERATOR
from rich.console import Console
from serving import Running, Service, wait_until

from optassign.cli.show.status_tables import render_status


def run(command: str, *options: str, columns: str = "80") -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "optassign.cli", command, *options]
    return subprocess.run(line, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": columns})


def test_status_of_all_and_of_one(service: Running) -> None:
    url = ("--url", str(service.client.base_url))
    done = run("status", *url)
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "fallback!" in lines["payments"]
    assert "warming up" in lines["orders"]
    assert "108/108" in lines["orders"]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "In shadow mode, so that Kafka's assignor decides: clicks" in done.stdout
    done = run("status", "orders", *url)
    assert "payments" not in done.stdout
    assert "shadow" not in done.stdout
    found = json.loads(run("status", "orders", "--json", *url).stdout)
    assert [each["application"] for each in found["applications"]] == ["orders"]
    assert found["applications"][0]["state"]["status"]["word"] == "warming up"
    assert found["applications"][0]["requests"]["paused"] is None


def test_a_follow_up_whose_time_is_over_is_due(service: Running) -> None:
    """An overdue follow-up has not happened, so the text does not say `ago`."""
    found = json.loads(run("status", "orders", "--json", "--url", str(service.client.base_url)).stdout)
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


def test_status_of_hostile_names(guarded: Running, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(OPERATOR, encoding="ascii")
    done = run("status", "--url", str(guarded.client.base_url), "--token-file", str(token))
    assert done.returncode == 0
    assert "\u202e" not in done.stdout
    assert "<script>" in done.stdout  # a terminal does not run it


def test_commands_without_a_service_end_with_3_and_one_line() -> None:
    for command in (["status"], ["pause", "orders"], ["drain", "orders", "orders-1"]):
        done = run(*command, "--url", "http://127.0.0.1:9")
        assert done.returncode == 3
        assert done.stderr.count("\n") == 1
        assert "no service answers at http://127.0.0.1:9" in done.stderr


def test_what_if_of_an_application_of_the_service(service: Running) -> None:
    url = ("--url", str(service.client.base_url))
    done = run("what-if", "orders", "--add", "1", *url, columns="120")
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 client added" in done.stdout
    done = run("what-if", "nothing-like-that", "--add", "1", *url)
    assert done.returncode == 4
    assert "no such application" in done.stderr


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

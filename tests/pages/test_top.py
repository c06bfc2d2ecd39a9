"""The first page in a terminal, and the demonstration in one command."""

import subprocess
import sys
from pathlib import Path

from pages import OPERATOR
from serving import Running, Service, wait_until


def run_top(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "optassign.cli", "top", "--once", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_top(service: Running) -> None:
    done = run_top("--url", str(service.client.base_url))
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert "fallback" in lines["payments"]
    assert "warming up" in lines["orders"]
    assert "108/108" in lines["orders"]
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_top_of_hostile_names(guarded: Running, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(OPERATOR, encoding="ascii")
    done = run_top("--url", str(guarded.client.base_url), "--token-file", str(token))
    assert done.returncode == 0
    assert "\u202e" not in done.stdout
    assert "<script>" in done.stdout  # a terminal does not run it


def test_top_without_a_service() -> None:
    done = run_top("--url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be asked" in done.stderr


def test_the_demonstration(demonstration: Service, day: Path) -> None:
    """Its pages are made in a process of their own, which a busy machine may be late with. It ends here, after its copy."""
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

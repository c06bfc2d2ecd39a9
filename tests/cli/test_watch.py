"""Tests that `optassign watch` finds its jar and java, or names the missing one; tests/broker tests the watcher itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import run_here


@pytest.fixture
def fake_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a java that prints its version or its arguments."""
    folder = tmp_path / "jdk" / "bin"
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text('#!/bin/sh\ncase "$1" in -version) echo \'openjdk version "17.0.9"\' >&2;; *) echo "$@"; exit 7;; esac\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.delenv("OPTASSIGN_WATCH_JAR", raising=False)
    monkeypatch.setenv("OPTASSIGN_JAVA", str(tmp_path / "sources"))
    return java


def test_becomes_the_java_program(fake_java: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    jar = tmp_path / "watch.jar"
    jar.touch()
    child = os.fork()
    if child == 0:
        from optassign.cli import main

        options = ["--groups", "orders,payments", "--interval", "2.5", "--metrics", "127.0.0.1:9470", "--dry-run", "--once"]
        os._exit(main(["watch", "--config", "a.properties", "--jar", str(jar), *options]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert capfd.readouterr().out.split() == [
        *("-jar", str(jar), "--config", "a.properties", "--groups", "orders,payments", "--interval", "2.5"),
        *("--metrics", "127.0.0.1:9470", "--dry-run", "--once"),
    ]


def test_finds_the_jar_of_a_checkout(fake_java: Path, tmp_path: Path) -> None:
    from optassign.cli.commands.service.watch import _find_jar

    target = tmp_path / "sources" / "watch" / "target"
    target.mkdir(parents=True)
    for name in ("original-optassign-watch-0.1.0.jar", "optassign-watch-0.1.0.jar"):
        (target / name).touch()
    assert _find_jar(None) == target / "optassign-watch-0.1.0.jar"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "the following arguments are required: --config"),
        (["--config", "x"], "--jar: found none, nor one built in a checkout; allowed: optassign-watch.jar, made by mvn"),
        (["--config", "x", "--jar", "no.jar"], "--jar: found no file no.jar; allowed: optassign-watch.jar"),
        (["--config", "x", "--interval", "soon"], "found 'soon'; allowed: seconds, or a duration"),
    ],
)
def test_missing_parts_are_reported(
    fake_java: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, out, err = run_here(capsys, "watch", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_a_java_that_is_too_old_is_refused(fake_java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake_java.write_text("#!/bin/sh\necho 'java version \"1.8.0_402\"' >&2\n")
    code, _, err = run_here(capsys, "watch", "--config", "x")
    assert code == 2
    assert 'which is version "1.8; allowed: Java 17 or later in JAVA_HOME or on PATH' in err


def test_without_java(fake_java: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java.unlink()
    monkeypatch.setenv("PATH", "")
    code, _, err = run_here(capsys, "watch", "--config", "x")
    assert code == 2
    assert "watch: found no java; allowed: Java 17 or later in JAVA_HOME or on PATH" in err

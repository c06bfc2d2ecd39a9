"""Tests of the process that runs Kafka's own assignors: its protocol, its command line, and errors if it lacks a program or
file."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from judging import make_snapshot
from kafkas_own import GENERATED, RECORDED, SNAPSHOTS, describe_roles

from optassign import assign
from optassign.assignor import AssignorError
from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.jvm import JavaNotFoundError, available
from optassign.assignors.baselines.kafka import KafkaHighAvailability
from optassign.cli import main
from optassign.formats.assignment import TaskAssignment

# --- the process -----------------------------------------------------------------------------------------------------


def test_a_bad_request_is_answered_and_the_process_goes_on() -> None:
    good = {
        "format": 1,
        "configs": {},
        "tasks": [{"id": "0_0", "stateful": False}],
        "clients": [{"process_id": "a", "threads": 1}],
    }
    bad: list[tuple[object, str]] = [
        ("no JSON", "no JSON"),
        ({"assignor": "best", "snapshot": good}, "high-availability, sticky"),
        ({"assignor": "sticky"}, "snapshot"),
        ({"assignor": "sticky", "snapshot": {**good, "odd": 1}}, "odd"),
        ({"assignor": "sticky", "snapshot": {**good, "format": 2}}, "format: found 2; allowed: 1"),
        ({"assignor": "sticky", "snapshot": {**good, "clients": []}}, "at least one"),
        ({"assignor": "sticky", "snapshot": {**good, "clients": [{"process_id": "a", "threads": 0}]}}, "clients[0]: threads"),
        ({"assignor": "sticky", "snapshot": {**good, "tasks": [{"id": "0", "stateful": True}]}}, "found 0"),
        ({"assignor": "sticky", "snapshot": {**good, "configs": {"max_warmup_replicas": 0}}}, "max.warmup.replicas"),
        ({"assignor": "sticky", "snapshot": good, "timed_calls": 0}, "timed_calls"),
    ]
    fine = {"assignor": "sticky", "snapshot": {**good, "x_ours": {"deep": [1]}}}
    lines = [request if isinstance(request, str) else json.dumps(request) for request, _ in bad]
    text = "\n".join([*lines, "", json.dumps(fine)]) + "\n"
    done = subprocess.run(jvm.command("--serve"), input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(bad) + 1
    for found, (request, expected) in zip(answers[:-1], bad, strict=True):
        assert expected in found["error"], request
        assert "\n" not in found["error"]
    assert answers[-1]["clients"] == [{"process_id": "a", "active": ["0_0"], "standby": [], "warmup": []}]
    assert answers[-1]["version"] == "4.3.1"
    assert not done.stderr


def test_a_refusal_of_kafkas_class_is_an_error_of_one_line() -> None:
    # Kafka cannot compare tasks of named topologies with other tasks.
    state = make_snapshot({"0_0": 1000, "named__0_0": 1000}, {"a": {}})
    with pytest.raises(AssignorError, match=r"high-availability assignor: .*named") as raised:
        assign(state, KafkaHighAvailability())
    assert "\n" not in str(raised.value)
    assert assign(SNAPSHOTS["third-instance-joins"], KafkaHighAvailability()).clients


def test_what_a_jvm_logs_is_no_answer(new_jvm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a JVM writes its own log to standard output, as it does warnings."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xlog:gc")
    assert assign(SNAPSHOTS["third-instance-joins"], KafkaHighAvailability()).clients


def test_threads_get_their_own_answers() -> None:
    states = [SNAPSHOTS[spec.name] for spec in GENERATED[:6]]
    alone = [describe_roles(assign(state, KafkaHighAvailability())) for state in states]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda state: describe_roles(assign(state, KafkaHighAvailability())), states * 3))
    assert together == alone * 3


def test_a_jvm_that_died_is_started_again(new_jvm: None) -> None:
    state = SNAPSHOTS["third-instance-joins"]
    first = describe_roles(assign(state, KafkaHighAvailability()))
    assert jvm._jvm is not None
    process = jvm._jvm._process
    process.kill()
    process.wait()
    assert describe_roles(assign(state, KafkaHighAvailability())) == first


def test_a_process_and_its_fork_have_a_jvm_each() -> None:
    code = """
import os, sys
from optassign.assignors.baselines import jvm
from optassign.assignors.baselines.kafka import KafkaSticky
from optassign_benchmarks.grid import Spec
def ask(seed): return len(KafkaSticky().timed(Spec("cold", 20, 4, seed=seed).generate()))
def pid(): return jvm._jvm._process.pid
ask(1)
parents = pid()
child = os.fork()
if child == 0:
    ask(2)
    jvm_is_its_own = pid() != parents
    jvm.close()
    os._exit(0 if jvm_is_its_own else 7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
ask(3)
assert pid() == parents
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# --- the Java command line -------------------------------------------------------------------------------------------


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(jvm.command(*arguments), capture_output=True, text=True, check=False)


def test_the_java_command_line_answers_as_python_does() -> None:
    done = run(str(RECORDED / "third-instance-joins.json"), "--assignor", "high-availability", "--timed-calls", "2")
    assert done.returncode == 0, done.stderr
    found = TaskAssignment.model_validate_json(done.stdout)
    expected = assign(SNAPSHOTS["third-instance-joins"], KafkaHighAvailability())
    assert found.assignor == "kafka-high-availability"
    assert found.clients == expected.clients
    assert done.stderr.startswith("seconds: [")
    assert done.stderr.count(",") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "usage:"),
        (("--assignor", "sticky"), "usage:"),
        (("SNAPSHOT", "--fast", "yes"), "usage:"),
        (("SNAPSHOT", "--assignor", "best"), "allowed: broker-sticky, broker-sticky-4.4, high-availability, sticky"),
        (("SNAPSHOT", "--timed-calls", "0"), "timed_calls"),
        (("missing.json",), "missing.json"),
    ],
)
def test_the_java_command_line_refuses_bad_usage(arguments: tuple[str, ...], expected: str) -> None:
    file = str(RECORDED / "third-instance-joins.json")
    done = run(*(file if argument == "SNAPSHOT" else argument for argument in arguments))
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Exception" not in done.stderr
    assert not done.stdout


# --- what may be missing ---------------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, new_jvm: None) -> Path:
    """Return an empty folder, the only folder on PATH; JAVA_HOME is unset."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return programs


def test_without_java_the_error_says_what_to_do(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(JavaNotFoundError, match=r"found no java in JAVA_HOME or on PATH.*JAVA_HOME") as raised:
        assign(SNAPSHOTS["third-instance-joins"], "kafka-high-availability")
    assert available() == str(raised.value)
    code = main(["assign", str(RECORDED / "third-instance-joins.json"), "--assignor", "kafka-sticky"])
    assert code == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_java_home_goes_before_path(bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    for folder, version in ((bare, "21.0.1"), (home / "bin", "1.8.0_392")):
        java = folder / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2023-10-17' >&2\n")
        java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(JavaNotFoundError, match="need a JDK 17 or later: found 8 at"):
        jvm.command()


def test_without_sources_the_error_says_where_they_would_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPTASSIGN_JAVA", str(tmp_path))
    with pytest.raises(JavaNotFoundError, match=r"found no sources \(OPTASSIGN_JAVA=.*folder `java` of a checkout"):
        jvm.command()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of module `baselines` in a copy with its pom and its parent's, without sources and not built."""
    there = Path(jvm.__file__).resolve().parents[3] / "java"
    module = tmp_path / "java" / "baselines"
    module.mkdir(parents=True)
    module.parent.joinpath("pom.xml").write_text((there / "pom.xml").read_text())
    module.joinpath("pom.xml").write_text((there / "baselines" / "pom.xml").read_text())
    monkeypatch.setenv("OPTASSIGN_JAVA", str(module.parent))
    return module


def test_without_maven_the_error_says_that_it_must_be_built(bare: Path, copied: Path) -> None:
    java = bare / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"17.0.1\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(JavaNotFoundError, match="have to be built once: found no mvn on PATH"):
        jvm.command()
    assert available() is not None


@pytest.mark.long
def test_it_is_built_if_sources_are_newer_and_errors_of_maven_are_shown(copied: Path) -> None:
    source = copied / "src" / "main" / "java" / "Probe.java"
    source.parent.mkdir(parents=True)
    source.write_text("final class Probe { }\n")
    jvm.command()
    built = copied / "target" / "classes" / "Probe.class"
    assert built.is_file()
    assert list((copied / "target" / "lib").glob("kafka-streams-4.3.1.jar"))
    built.unlink()
    jvm.command()
    assert not built.exists()  # no source is newer: not built again
    source.write_text("final class Probe { int nothing() { } }\n")
    stamp = copied / "target" / ".built"
    os.utime(source, ns=(stamp.stat().st_mtime_ns + 1, stamp.stat().st_mtime_ns + 1))
    with pytest.raises(AssignorError, match=r"(?s)mvn .*exit code 1.*missing return statement"):
        jvm.command()

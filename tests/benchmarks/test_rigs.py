"""Tests of the test beds of studies: folders of recordings, busy cores, samples of an application, random actions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from optassign.recordings.recording import read_recording
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.kafka.faults import ServiceFault
from optassign_benchmarks.kafka.instance import Status
from optassign_benchmarks.kafka.processes import ChildProcess, NotReachedError
from optassign_benchmarks.kafka.recovery import busy, observer
from optassign_benchmarks.kafka.recovery.course import Wanted
from optassign_benchmarks.kafka.trials import _Owners
from optassign_benchmarks.soak.actions import Chaos
from optassign_benchmarks.soak.recorded_folder import fill_folder


def test_a_folder_has_readable_recordings_spread_over_the_span(tmp_path: Path) -> None:
    filled = fill_folder(tmp_path, [Spec("steady", 6, 2, seed=seed) for seed in (1, 2)], 12, timedelta(days=3))
    files = sorted(tmp_path.rglob("*.json.gz"))
    assert len(files) == 12
    assert [each.application for each in filled] == ["app-00", "app-01"]
    assert len({file.parent for file in files}) in (6, 8), "each application has two a day, on three or four dates"
    (newest,) = tmp_path.rglob(f"app-01/{filled[1].newest}.json.gz")
    assert newest == max(file for file in files if "app-01" in str(file))
    recording = read_recording(str(newest))
    assert (recording.application, len(recording.snapshot.tasks)) == ("app-01", 6)


def test_cores_are_busy_until_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loops: list[ChildProcess] = []

    def start(command: list[str], log: Path) -> ChildProcess:
        loops.append(ChildProcess(command, log))
        return loops[-1]

    monkeypatch.setattr(busy, "ChildProcess", start)
    with busy.spin(2, tmp_path):
        assert [loop.alive for loop in loops] == [True, True]
    assert [loop.alive for loop in loops] == [False, False]


def make_group(*active: str) -> Any:
    """Return an application whose instances run these tasks, each with its state."""
    instances = {}
    for number, tasks in enumerate(active):
        lags = {f"store/{task[-1]}": 0 for task in tasks.split()}
        status = Status(state="RUNNING", threads=("RUNNING",), active=tuple(tasks.split()), lags=lags)
        instances[f"i{number}"] = SimpleNamespace(last_status=status, ask_status=lambda: None)
    return SimpleNamespace(application="app", instances=instances, logs=list, read_logs=dict, assert_nothing_died=lambda: None)


def test_samples_tell_when_an_application_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "_INTERVAL", 0.01)
    wanted = Wanted(["0_0", "0_1"], {0: "store"}, instances=2, standbys=0, most_lag=0)
    with observer.Observer(make_group("0_0", "0_1"), wanted) as watching:
        watching.await_complete(timeout=10)
    assert not watching._thread.is_alive()
    watching.save(tmp_path / "samples")
    lines = (tmp_path / "samples").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(watching.samples) >= 1
    assert '"i1": {"state":"RUNNING"' in lines[0]
    with observer.Observer(make_group("0_0", ""), wanted) as watching, pytest.raises(NotReachedError, match="app: every task"):
        watching.await_complete(timeout=0.2)


def play(seed: int, actions: int) -> tuple[Chaos, list[str]]:
    """Run random actions on a group and a service that only record their calls; return the actor and the calls."""
    done: list[str] = []
    instances: dict[str, Any] = {}

    def start(name: str) -> None:
        instances[name] = SimpleNamespace(rebalance=lambda: done.append(f"rebalance {name}"))
        done.append(f"start {name}")

    def end(how: str) -> Callable[[str], None]:
        def do(name: str) -> None:
            del instances[name]
            done.append(f"{how} {name}")

        return do

    ends = {how: end(how) for how in ("kill", "leave", "stop")}
    group: Any = SimpleNamespace(instances=instances, rebalances=[], start=start, **ends)
    ways = {how: (lambda how=how: done.append(f"service {how}")) for how in ("kill", "stop", "pause", "resume", "start")}
    service: Any = SimpleNamespace(**ways)
    front: Any = SimpleNamespace(fault=ServiceFault.NONE)
    chaos = Chaos(group, service, front, seed, spared="a", ways=("kill", "stop", "pause"))
    start("a")
    for _ in range(actions):
        chaos.act()
    return chaos, done


def test_a_seed_fixes_the_actions_and_spared_instances_live() -> None:
    (first, done), (_, again), (_, other) = play(1, 60), play(1, 60), play(2, 60)
    assert done == again != other
    assert not {f"{how} a" for how in ("kill", "leave", "stop")} & set(done)
    assert first.counts.total() == 60
    assert done.count("service resume") == done.count("service start") == first.counts["heal"]
    assert set(first.counts) == {"start", "kill", "leave", "restart", "rebalance", "service", "fault", "heal"}
    hurt = [line.split()[2] for line in first.history if line.split()[2] in ("service", "fault", "heal")]
    assert all((one == "heal") != (other == "heal") for one, other in pairwise(hurt)), "one fault at a time"


def test_a_task_that_another_process_runs_has_moved() -> None:
    owners = _Owners()
    for process in "aabba":
        owners.note("0_0", process)
    assert (owners.moves, owners.owners) == (2, {"0_0": "a"})

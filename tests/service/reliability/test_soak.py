"""Tests of the soak: measured resources are correct, growth differs from warming up, and bad clients leave nothing open."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from serving import run_service, wait_until

from optassign_benchmarks.soak.samples import (
    MIB,
    Sample,
    Sampler,
    draw_soak,
    find_children,
    find_faults,
    measure_folder,
    read_usage,
    summarise,
)
from optassign_benchmarks.soak.visitors import Visitors

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="as Linux tells it")

_HOLDING = """
import threading
held = [open("/dev/null") for _ in range(50)]
for _ in range(7):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
memory = bytearray(b"x") * (64 << 20)
print("there", flush=True)
input()
"""


def test_resources_of_a_process_are_measured(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", _HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        usage = read_usage(process.pid)
        assert usage is not None
        assert usage.threads == 8
        assert 53 <= usage.descriptors <= 56
        assert 64 * MIB < usage.memory < 128 * MIB
        assert process.pid in find_children(os.getpid())
        process.kill()
    assert read_usage(process.pid) is None
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_bytes(b"x" * 100_000)
    assert 100_000 <= measure_folder(tmp_path) <= 120_000


def make_samples(name: str, memory: list[int], threads: int = 5) -> list[Sample]:
    return [Sample(5.0 * i, "service", name, 1, value * MIB, 20, threads, 1.0) for i, value in enumerate(memory)]


def test_growth_differs_from_warming_up() -> None:
    warming = [20 + min(i, 20) * 4 for i in range(100)]
    assert find_faults(summarise(make_samples("service", warming))) == []
    growing = [80 + i // 3 for i in range(100)]
    grew = "service: memory grew by 17,825,792; allowed: 12,582,912"
    assert find_faults(summarise(make_samples("service", growing))) == [grew]
    peak = [*[80] * 50, 300, *[80] * 50]
    assert find_faults(summarise(make_samples("service", peak))) == ["service: memory up to 314,572,800; allowed: 268,435,456"]


def test_growth_of_a_late_process_is_warming_up() -> None:
    old = make_samples("service", [80] * 100)
    late = [Sample(400 + 5.0 * i, "service", "late", 2, (20 + 3 * i) * MIB, 20, 5, 1.0) for i in range(20)]
    rows = summarise([*old, *late])
    assert find_faults(rows) == []
    assert (rows[0].before, rows[0].most, rows[0].most_growth) == (80 * MIB, 80 * MIB, 0)


def test_samples_are_written_and_drawn(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    with Sampler(file, lambda: [("service", "own", os.getpid())], {"recordings": tmp_path}, interval=0.01) as sampler:
        wait_until(lambda: len(sampler.samples) >= 40)
    assert [Sample(**json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()] == sampler.samples
    assert {(sample.kind, sample.pid) for sample in sampler.samples} == {("service", os.getpid()), ("recordings", None)}
    draw_soak(sampler.samples, [0.1, 0.2], tmp_path / "soak.png")
    assert (tmp_path / "soak.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.long
def test_connections_of_bad_clients_are_closed() -> None:
    with run_service("--workers", "1") as service:
        before = read_usage(service.process.pid)
        assert before is not None
        with Visitors(str(service.client.base_url), seed=1, pause=0.01) as visitors:
            wait_until(lambda: visitors.visits.total() >= 300)
        assert set(visitors.statuses) <= {0, 200, 400, 408, 413, 503}
        assert visitors.statuses[200] > 100
        assert all(visitors.visits[name] for name in ("report", "spoiled body", "large body", "half a head", "no HTTP"))
        wait_until(lambda: (usage := read_usage(service.process.pid)) and usage.descriptors <= before.descriptors + 2)
        assert not service.list_events("bug")

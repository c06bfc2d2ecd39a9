"""Tests that refusing an input takes processor time and memory in proportion to its size, whatever the error."""

import subprocess
import sys
from pathlib import Path

import pytest
from hostile_bodies import BODIES

_SUPPORT = Path(__file__).parents[1] / "support" / "processes"
_READ = """
import resource, sys
from optassign.formats.input_errors import InputError
from optassign.formats.json_input import read_value, to_model
from optassign.formats.state import ApplicationState
sys.path.insert(0, sys.argv[1])
from hostile_bodies import BODIES
body = BODIES[sys.argv[2]](int(sys.argv[3]))
seconds, room = int(sys.argv[4]), int(sys.argv[5])
used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds))
for line in open("/proc/self/status"):
    if line.startswith("VmSize"):
        resource.setrlimit(resource.RLIMIT_AS, ((int(line.split()[1]) << 10) + room,) * 2)
try:
    to_model(read_value(body, "request"), ApplicationState, "request", unknown="ignore")
except InputError as error:
    assert len(str(error)) < 1000
    print(ascii(str(error)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process as Linux keeps them")
@pytest.mark.parametrize(
    ("name", "megabytes", "room", "found"),
    [
        ("repeated names", 2, 250, 'field "n0000000" twice'),
        ("runs of digits", 20, 250, "an integer of thousands of digits"),
        ("wrong tasks", 4, 250, "tasks[0]: found 0"),
        ("wrong lags", 4, 300, 'clients[0].lags["0_0"]: found "x"'),
        ("wrong consumers", 4, 400, 'clients[0].consumers["0"][0]: found 0'),
        ("infinite extras", 4, 300, "x_0: found Infinity"),
        ("nested long names", 20, 300, 'field "a" twice'),
        ("application last", 3, 300, "configs: found nothing"),
    ],
)
def test_refusing_an_input_stays_within_limits(name: str, megabytes: int, room: int, found: str) -> None:
    """The limits are 10 s of processor time and `room` MB."""
    arguments = [str(_SUPPORT), name, str(megabytes * 1_000_000), "10", str(room << 20)]
    ended = subprocess.run([sys.executable, "-c", _READ, *arguments], capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, (ended.returncode, ended.stderr[-500:])
    assert found in ended.stdout


def test_all_bodies_are_tried() -> None:
    assert set(BODIES) - {"empty lists"} == {
        "repeated names",
        "runs of digits",
        "wrong tasks",
        "wrong lags",
        "wrong consumers",
        "infinite extras",
        "nested long names",
        "application last",
    }

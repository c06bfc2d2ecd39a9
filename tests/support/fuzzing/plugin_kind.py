"""Properties of planner and client: jqwik makes and shrinks their cases and prints its seeds; they need Maven."""

import re
import subprocess
import time
from pathlib import Path

_JAVA = Path(__file__).parents[3] / "java" / "pom.xml"
_COMMAND = (
    *("mvn", "--batch-mode", "--quiet", "--file", str(_JAVA), "--projects", "client", "--also-make"),
    *("-Dstyle.skip", "-Dtest=*FuzzTest", "-Dsurefire.failIfNoSpecifiedTests=false"),
    *("-Djqwik.tries.default=5000", "-Djqwik.reporting.onlyfailures=false", "test"),
)


def run_plugin(until: float) -> tuple[int, list[str]]:
    """Try the properties repeatedly until a time by time.monotonic; return the number of cases and the faults."""
    cases = 0
    while True:
        ended = subprocess.run(_COMMAND, capture_output=True, text=True, check=False)
        cases += sum(int(number) for number in re.findall(r"^tries = (\d+)", ended.stdout, re.MULTILINE))
        if ended.returncode:
            return cases, [ended.stdout[-6000:]]
        if time.monotonic() > until:
            return cases, []

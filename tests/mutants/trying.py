"""Runs of the tests that execute the line of a mutant."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from copying import TREE, WORK, run_in_fork, run_pytest
from hypothesis import Phase, settings
from mapping import Map
from mutating import Mutant, apply_mutant, list_lines

CAUGHT = frozenset({"caught", "time-out", "memory", "killed"})
_FIRST = 12
"""Number of tests in the first batch, which catches most mutants."""


class Chooser:
    """A pytest plug-in that runs the chosen tests in their order, and ends the process by a signal if a test hangs."""

    def __init__(self, chosen: Mapping[str, float], state: Path) -> None:
        self._chosen, self._state = chosen, state
        """Test → its usual CPU seconds; and the file of the tests that began and failed, which outlives this process."""

    def _note(self, what: str, test: str) -> None:
        with self._state.open("a", encoding="utf-8") as file:
            file.write(f"{what} {test}\n")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Stop at the first failing example, since no reader needs a smaller one."""
        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: number for number, test in enumerate(self._chosen)}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._note("began", nodeid)
        signal.setitimer(signal.ITIMER_PROF, max(10.0, 10 * self._chosen[nodeid]))  # CPU time, since the machine may be busy
        signal.setitimer(signal.ITIMER_REAL, max(120.0, 30 * self._chosen[nodeid]))  # a test may wait without CPU time

    def pytest_runtest_logfinish(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note("failed", report.nodeid)


def run_tests(tests: Iterable[str], known: Map, *options: str) -> tuple[str, list[str], int]:
    """Run tests in the copy.

    Return the outcome ("passed", "failed", or the end of a process that was killed), the failed tests, and the number of tests
    that began.
    """
    chosen = {test: known.seconds[test] for test in tests}
    state, log = WORK / "state", WORK / "try.log"
    state.write_text("", encoding="utf-8")
    functions = dict.fromkeys(test.partition("[")[0] for test in chosen)
    ended, code = run_in_fork(lambda: run_pytest([*options, *functions], Chooser(chosen, state)), log)
    assert (ended, code) != ("exit", 70), f"see {log}"
    notes = [line.split(" ", 1) for line in state.read_text(encoding="utf-8").splitlines()]
    began = [test for what, test in notes if what == "began"]
    if ended == "exit" and code in {0, 5}:  # 5: the mutant has removed the parametrised cases
        return "passed", [], len(began)
    failed = [test for what, test in notes if what == "failed"]
    return "failed" if ended == "exit" else ended, failed or began[-1:], len(began)


def choose_tests(tests: list[str], known: Map, most: int, most_seconds: float) -> list[str]:
    """Return the first of these tests: at most `most`, within `most_seconds` of CPU, and at least one."""
    chosen, total = tests[:1], sum(known.seconds[test] for test in tests[:1])
    for test in tests[1:most]:
        total += known.seconds[test]
        if total > most_seconds:
            break
        chosen.append(test)
    return chosen


def try_mutant(mutant: Mutant, known: Map, most: int, most_seconds: float) -> dict[str, Any]:
    """Try a mutant in the copy; return the result as JSON: whether it is caught, by which test, and the effort."""
    path, begun = TREE / mutant.file, time.monotonic()
    source = path.read_text(encoding="utf-8")
    found = apply_mutant(mutant, source)
    if found is None:
        return {"result": "gone"}
    number, faulty = found
    tests = known.list_tests(mutant.file, *list_lines(source, number))
    chosen = choose_tests(tests, known, most, most_seconds)
    path.write_text(faulty, encoding="utf-8")
    try:
        outcome = catch_mutant(chosen, known) if chosen else {"result": "no tests"}
    finally:
        path.write_text(source, encoding="utf-8")
    took = round(time.monotonic() - begun, 1)
    return {**outcome, "executing": len(tests), "chosen": len(chosen), "seconds": took}


def catch_mutant(tests: list[str], known: Map) -> dict[str, Any]:
    """Run tests on the mutated copy until one fails; return the result as JSON."""
    left, tried = [tests[:_FIRST], tests[_FIRST:]], 0
    unsure: list[str] = []
    while left:
        batch = left.pop(0)
        ended, failed, began = run_tests(batch, known, "-x") if batch else ("passed", [], 0)
        tried += began
        if ended == "passed":
            continue
        # A flaky test does not show that the mutant is caught, so a failure has to repeat.
        if ended != "failed" or run_tests(failed or batch, known, "-x")[0] != "passed":
            by = failed[0] if failed else "collecting the tests"
            return {"result": "caught" if ended == "failed" else ended, "by": by, "tried": tried, "unsure": unsure}
        unsure += failed
        left.insert(0, batch[batch.index(failed[0]) + 1 :] if failed else [])
    return {"result": "survived", "by": "", "tried": tried, "unsure": unsure}

"""Trying a mutant with the tests that execute its line."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from copying import TREE, WORK, ask_pytest, run_apart
from hypothesis import Phase, settings
from mapping import Map
from mutating import Mutant, apply_mutant, list_lines

CAUGHT = frozenset({"caught", "time-out", "memory", "killed"})
_FIRST = 12
"""So many tests are collected at first: most mutants are caught by one of these."""


class Chooser:
    """Runs the chosen tests only, in their order, and has the system end the process in the midst of one that hangs."""

    def __init__(self, chosen: Mapping[str, float], state: Path) -> None:
        self._chosen, self._state = chosen, state
        """Test → its usual seconds; and the file that says which tests began and failed, should this process be gone."""

    def _say(self, what: str, test: str) -> None:
        with self._state.open("a", encoding="utf-8") as file:
            file.write(f"{what} {test}\n")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """Stop at the first example that fails: a smaller one is of no use here."""
        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate], report_multiple_bugs=False)
        settings.load_profile("mutants")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        place = {test: number for number, test in enumerate(self._chosen)}
        items[:] = sorted((item for item in items if item.nodeid in place), key=lambda item: place[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._say("began", nodeid)
        signal.setitimer(signal.ITIMER_PROF, max(10.0, 10 * self._chosen[nodeid]))  # of CPU: others may be busy as well
        signal.setitimer(signal.ITIMER_REAL, max(120.0, 30 * self._chosen[nodeid]))  # it may also wait for ever

    def pytest_runtest_logfinish(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._say("failed", report.nodeid)


def run_tests(tests: Iterable[str], known: Map, *options: str) -> tuple[str, list[str], int]:
    """Run tests in the copy as it is now; return "passed", "failed" or how they were ended, which failed, how many began."""
    chosen = {test: known.seconds[test] for test in tests}
    state, log = WORK / "state", WORK / "try.log"
    state.write_text("", encoding="utf-8")
    functions = dict.fromkeys(test.partition("[")[0] for test in chosen)
    ended, code = run_apart(lambda: ask_pytest([*options, *functions], Chooser(chosen, state)), log)
    assert (ended, code) != ("exit", 70), f"see {log}"
    said = [line.split(" ", 1) for line in state.read_text(encoding="utf-8").splitlines()]
    began = [test for what, test in said if what == "began"]
    if ended == "exit" and code in {0, 5}:  # 5: the fault has changed which cases there are
        return "passed", [], len(began)
    failed = [test for what, test in said if what == "failed"]
    return "failed" if ended == "exit" else ended, failed or began[-1:], len(began)


def choose_tests(tests: list[str], known: Map, most: int, most_seconds: float) -> list[str]:
    """The first of these tests, so many and for so long; at least one."""
    chosen, total = tests[:1], sum(known.seconds[test] for test in tests[:1])
    for test in tests[1:most]:
        total += known.seconds[test]
        if total > most_seconds:
            break
        chosen.append(test)
    return chosen


def try_mutant(mutant: Mutant, known: Map, most: int, most_seconds: float) -> dict[str, Any]:
    """Whether a mutant is caught, and by which test."""
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
        outcome = catch_fault(chosen, known) if chosen else {"result": "no tests"}
    finally:
        path.write_text(source, encoding="utf-8")
    took = round(time.monotonic() - begun, 1)
    return {**outcome, "executing": len(tests), "chosen": len(chosen), "seconds": took}


def catch_fault(tests: list[str], known: Map) -> dict[str, Any]:
    """Run tests on the copy with a fault until one fails."""
    left, tried = [tests[:_FIRST], tests[_FIRST:]], 0
    unsure: list[str] = []
    while left:
        batch = left.pop(0)
        ended, failed, began = run_tests(batch, known, "-x") if batch else ("passed", [], 0)
        tried += began
        if ended == "passed":
            continue
        # A test that fails only now and then says nothing of the fault.
        if ended != "failed" or run_tests(failed or batch, known, "-x")[0] != "passed":
            by = failed[0] if failed else "collecting the tests"
            return {"result": "caught" if ended == "failed" else ended, "by": by, "tried": tried, "unsure": unsure}
        unsure += failed
        left.insert(0, batch[batch.index(failed[0]) + 1 :] if failed else [])
    return {"result": "survived", "by": "", "tried": tried, "unsure": unsure}

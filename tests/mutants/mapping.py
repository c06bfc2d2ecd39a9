"""Which tests execute which lines."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest
from copying import TREE, WORK, ask_pytest, copy_project, run_apart

TREES = ("models", "optassign/translating", "optassign/judging")
"""What is mutated."""
_LEFT_OUT = ("kafka", "broker", "spark", "java", "browser", "monitoring", "mutants")
"""Rooms whose tests need a real thing, or test these mutants."""
_CONTEXT = "OPTASSIGN_MUTANTS_CONTEXT"
"""Tells processes that a test starts for whom they run."""


def _name(fixture: pytest.FixtureDef[Any]) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def _read_cpu() -> float:
    """Seconds of this process and of those it waited for: unlike those of a clock, the same on a busy machine."""
    return sum(os.times()[:4])


class Mapper:
    """Has coverage tell apart the lines of each test, and those of each fixture that several tests share."""

    def __init__(self, measuring: coverage.Coverage, notes: Path) -> None:
        self._measuring, self._notes = measuring, notes
        self._seconds: dict[str, float] = {}
        self._not_passed: set[str] = set()
        self._fixtures: dict[str, list[str]] = {}
        self._caches: list[Any] = []

    def _switch(self, context: str) -> None:
        self._measuring.switch_context(context)
        os.environ[_CONTEXT] = context

    def pytest_collection_finish(self) -> None:
        """Find what tests and sources remember from one test to the next."""
        here = str(Path.cwd())
        modules = [module for module in list(sys.modules.values()) if (getattr(module, "__file__", "") or "").startswith(here)]
        found = [value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")]
        self._caches = list({id(value): value for value in found}.values())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, object, object]:
        for cached in self._caches:  # a kept value would leave its lines to the first test alone
            cached.cache_clear()
        known = item._fixtureinfo.name2fixturedefs.values()
        self._fixtures[item.nodeid] = [_name(found[-1]) for found in known if found[-1].scope != "function"]
        self._switch(item.nodeid)
        before = _read_cpu()
        result = yield
        self._seconds[item.nodeid] = _read_cpu() - before
        self._switch("")
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        before = os.environ[_CONTEXT]
        if fixturedef.scope != "function":
            self._switch(_name(fixturedef))
        try:
            return (yield)
        finally:
            self._switch(before)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._not_passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {test: round(seconds, 3) for test, seconds in self._seconds.items() if test not in self._not_passed}
        notes = {"seconds": passed, "fixtures": self._fixtures, "not_passed": sorted(self._not_passed)}
        self._notes.write_text(json.dumps(notes), encoding="utf-8")


@dataclass
class Map:
    """Which tests execute which lines of the mutated trees."""

    seconds: dict[str, float]
    """Test → how much CPU it took; those that did not pass are left out."""
    lines: dict[str, dict[int, int]]
    """File → line → tests, the bit of each by its place in `seconds`; 0: the line runs only while a module is imported."""

    def list_tests(self, file: str, lines: Iterable[int], on_import: bool) -> list[str]:
        """The tests to try, those worth most first: fast ones, and further cases of one function after other functions."""
        known, bits = self.lines.get(file, {}), 0
        for line in known if on_import else lines:  # what a module does on import matters to whoever uses the module
            bits |= known.get(line, 0)
        tests = [test for number, test in enumerate(self.seconds) if bits >> number & 1]
        cases: Counter[str] = Counter()
        costs = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            function = test.partition("[")[0]
            cases[function] += 1
            costs[test] = (self.seconds[test] + 0.01) * cases[function]
        return sorted(costs, key=lambda test: (costs[test], test))


def make_map(tests: list[str]) -> dict[str, Any]:
    """Run all tests once and write down what they execute."""
    data = WORK / "data"
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    config, notes = WORK / "coveragerc", WORK / "notes.json"
    config.write_text(
        f"[run]\nbranch = true\nparallel = true\nsigterm = true\ndata_file = {data}/coverage\n"
        f"source =\n    {TREE}/optassign\n    {TREE}/models\n"
        f"context = ${{{_CONTEXT}-}}\n"
        "disable_warnings = no-data-collected, module-not-imported, module-not-measured\n",
        encoding="utf-8",
    )

    def run_all() -> int:
        measuring = coverage.Coverage(config_file=str(config))
        measuring.start()
        os.environ.update({_CONTEXT: "", "COVERAGE_PROCESS_START": str(config)})
        left_out = [f"--ignore=tests/{name}" for name in _LEFT_OUT]
        code = ask_pytest(["-m", "not wheel and not long", *left_out, *tests], Mapper(measuring, notes))
        measuring.stop()
        measuring.save()
        return code

    _, code = run_apart(run_all, WORK / "map.log")
    assert code in {0, 1}, f"see {WORK / 'map.log'}"
    measured = coverage.Coverage(config_file=str(config))
    measured.combine([str(data)])
    noted = json.loads(notes.read_text(encoding="utf-8"))
    return {**noted, "lines": read_lines(measured.get_data(), noted)}


def read_lines(data: coverage.CoverageData, noted: dict[str, Any]) -> dict[str, dict[int, str]]:
    """File → line → tests as bits in hexadecimal, of the mutated trees only."""
    bits: dict[str, int] = defaultdict(int)  # by context: a test, or a fixture that several tests share
    for number, test in enumerate(noted["seconds"]):
        for context in (test, *noted["fixtures"][test]):
            bits[context] |= 1 << number
    lines: dict[str, dict[int, str]] = {}
    for path in sorted(data.measured_files()):
        name = Path(path).relative_to(TREE).as_posix()
        for line, contexts in data.contexts_by_lineno(path).items() if name.startswith(TREES) else ():
            tests = 0
            for context in contexts:
                tests |= bits[context]
            lines.setdefault(name, {})[line] = hex(tests)
    return lines


def read_map(tests: list[str]) -> Map:
    """Copy the project; return the map of its tests, all or these, made now if there is none of just these files."""
    path, key = WORK / "map.json", [copy_project(), *tests]
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if kept.get("key") != key:
        print("Running all tests once, to know which lines each executes", flush=True)
        begun = time.monotonic()
        kept = {"key": key, **make_map(tests)}
        path.write_text(json.dumps(kept), encoding="utf-8")
        print(f"That took {time.monotonic() - begun:.0f} s")
    if kept["not_passed"]:
        print(f"{len(kept['not_passed'])} tests fail or are skipped without any fault, and are left out")
    lines = {file: {int(line): int(bits, 16) for line, bits in known.items()} for file, known in kept["lines"].items()}
    return Map(kept["seconds"], lines)

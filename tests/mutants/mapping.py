"""The map from source lines to the tests that execute them."""

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
from copying import TREE, WORK, copy_project, run_in_fork, run_pytest

TREES = ("models", "optassign/translating", "optassign/judging")
"""The folders whose files are mutated."""
_LEFT_OUT = ("kafka", "broker", "spark", "java", "browser", "monitoring", "mutants")
"""Folders of tests that need a cluster, a JVM or a browser, or that test the mutants themselves."""
_CONTEXT = "OPTASSIGN_MUTANTS_CONTEXT"
"""Environment variable that names the running test to the processes that it starts."""


def _name_fixture(fixture: pytest.FixtureDef[Any]) -> str:
    return f"fixture {fixture.baseid}::{fixture.argname}"


def _read_cpu() -> float:
    """Return the CPU seconds of this process and its ended children, which a busy machine does not change."""
    return sum(os.times()[:4])


class Mapper:
    """A pytest plug-in that records the lines of each test, and of each fixture that several tests share, as contexts."""

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
        """Find the function caches of tests and sources, which outlive a test."""
        here = str(Path.cwd())
        modules = [module for module in list(sys.modules.values()) if (getattr(module, "__file__", "") or "").startswith(here)]
        found = [value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")]
        self._caches = list({id(value): value for value in found}.values())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Generator[None, object, object]:
        for cached in self._caches:  # otherwise only the first test would execute the lines of a cached function
            cached.cache_clear()
        known = item._fixtureinfo.name2fixturedefs.values()
        self._fixtures[item.nodeid] = [_name_fixture(found[-1]) for found in known if found[-1].scope != "function"]
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
            self._switch(_name_fixture(fixturedef))
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
    """The tests that execute each line of the mutated trees."""

    seconds: dict[str, float]
    """Test → its CPU seconds; only tests that passed."""
    lines: dict[str, dict[int, int]]
    """File → line → bits of tests, by their index in `seconds`; 0 if the line runs only while a module is imported."""

    def list_tests(self, file: str, lines: Iterable[int], on_import: bool) -> list[str]:
        """Return the tests that execute these lines, or any line if `on_import`: fast tests and new test functions first."""
        known, bits = self.lines.get(file, {}), 0
        for line in known if on_import else lines:  # code that runs on import affects every user of the module
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
    """Return the map as JSON, after running all tests once under coverage."""
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
        code = run_pytest(["-m", "not wheel and not long", *left_out, *tests], Mapper(measuring, notes))
        measuring.stop()
        measuring.save()
        return code

    _, code = run_in_fork(run_all, WORK / "map.log")
    assert code in {0, 1}, f"see {WORK / 'map.log'}"
    measured = coverage.Coverage(config_file=str(config))
    measured.combine([str(data)])
    noted = json.loads(notes.read_text(encoding="utf-8"))
    return {**noted, "lines": read_lines(measured.get_data(), noted)}


def read_lines(data: coverage.CoverageData, noted: dict[str, Any]) -> dict[str, dict[int, str]]:
    """Return file → line → bits of tests in hexadecimal, for the mutated trees only."""
    bits: dict[str, int] = defaultdict(int)  # context (a test, or a fixture that several tests share) → bits of tests
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
    """Copy the project; return the map of these tests, or of all, from the cache if no source or test has changed."""
    path, key = WORK / "map.json", [copy_project(), *tests]
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if kept.get("key") != key:
        print("Running all tests once, to map lines to tests", flush=True)
        begun = time.monotonic()
        kept = {"key": key, **make_map(tests)}
        path.write_text(json.dumps(kept), encoding="utf-8")
        print(f"The map took {time.monotonic() - begun:.0f} s")
    if kept["not_passed"]:
        print(f"{len(kept['not_passed'])} tests fail or are skipped without a mutant; the map leaves them out")
    lines = {file: {int(line): int(bits, 16) for line, bits in known.items()} for file, known in kept["lines"].items()}
    return Map(kept["seconds"], lines)

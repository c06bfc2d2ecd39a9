"""Common settings of all tests: programs that folders of tests need, the order of folders, and skips as failures."""

import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# A shell script starts background processes with SIGINT ignored, and their children inherit that: a command that a test
# interrupts would run forever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NEEDED_PROGRAMS = {
    "browser": "Chromium and its driver: apt-get install chromium",
    "broker": "a JDK and Maven, for a real broker of Kafka 4.4: apt-get install openjdk-17-jdk-headless maven",
    "java": "a JDK and Maven: apt-get install openjdk-17-jdk-headless maven",
    "kafka": "a JDK and Maven, for a real broker: apt-get install openjdk-17-jdk-headless maven",
    "monitoring": "promtool of Prometheus: apt-get install prometheus",
    "spark": "a JDK, for a real Spark cluster: apt-get install openjdk-17-jdk-headless",
}
"""Folder under tests/ → the program that its tests need, and its installation; each folder's name is also a marker."""

FOLDERS_ON_ONE_WORKER = ("service", "spark", "broker", "kafka", "pages", "java", "monitoring")
"""Folders whose tests share a broker, a cluster, a browser, a build or a service, sorted by time, the longest first."""

# The same examples in every run, so that failures are reproducible. --hypothesis-profile=explore draws new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=2000, print_blob=True)
settings.load_profile("repeatable")


def _folders(path: Path) -> tuple[str, ...]:
    """Return the parts of this path below tests/; empty for a path elsewhere."""
    try:
        return path.relative_to(Path(__file__).parent).parts
    except ValueError:
        return ()


def _real_things(path: Path) -> frozenset[str]:
    """Return the keys of `NEEDED_PROGRAMS` whose programs the tests at this path need."""
    return frozenset(NEEDED_PROGRAMS.keys() & set(_folders(path)))


def _skips_are_failures() -> bool:
    """Return whether a skip is a failure: in continuous integration all programs are present."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for name in sorted(_real_things(item.path)):
            item.add_marker(name)
    items.sort(key=lambda item: _place(item.path))


def _place(path: Path) -> int:
    """Return the position of a test's folder in `FOLDERS_ON_ONE_WORKER`, or its length for other folders, which run last."""
    rooms = [FOLDERS_ON_ONE_WORKER.index(part) for part in _folders(path) if part in FOLDERS_ON_ONE_WORKER]
    return min(rooms, default=len(FOLDERS_ON_ONE_WORKER))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Return a scheduler that runs all tests of a file, or of a folder of `FOLDERS_ON_ONE_WORKER`, on one worker.

    It uses folders, since marks of groups (--dist loadgroup) are lost: xdist 3.8 writes them where pytest 9.2 does not read
    them.
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByRoom(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::", 1)[0]
            return next((folder for folder in file.split("/")[:-1] if folder in FOLDERS_ON_ONE_WORKER), file)

    return ByRoom(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    marks = sorted({mark.name for mark in item.iter_markers()} & NEEDED_PROGRAMS.keys())
    if marks and report.skipped and not hasattr(report, "wasxfail") and _skips_are_failures():
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} ({', '.join(marks)}) must not be skipped when CI is set: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A file that skips itself at import has no items, and so no markers; its folder decides.
    report = yield
    if report.skipped and _real_things(collector.path) and _skips_are_failures():
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} must not be skipped when CI is set: {_reason(report)}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a table of the missing programs, the number of tests that each skips, and their installation."""
    left_out: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        things = _real_things(terminalreporter.config.rootpath / report.nodeid.split("::")[0])
        left_out.update(things)
        if not things:
            others[_reason(report)] += 1
    if left_out or others:
        terminalreporter.section("left out, since something is missing")
    for name, count in sorted(left_out.items()):
        terminalreporter.write_line(f"{f'tests/{name}':<16}{count:>4}  needs {NEEDED_PROGRAMS[name]}")
    for why, count in sorted(others.items()):
        terminalreporter.write_line(f"{'others':<16}{count:>4}  {why}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)

"""Fixtures: a real broker and a real service, shared by all tests; each test has its own application."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from example_applications import write_orders
from kafka_group import PATIENT, RATE

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.jars import ToolMissingError, classpath
from optassign_benchmarks.kafka.processes import tail_logs
from optassign_benchmarks.kafka.service import ServiceProcess

NewGroup = Callable[..., StreamsApplication]
_LONGEST_ERROR = 4000
_SHOWN = pytest.StashKey[list[Callable[[], list[Path]]]]()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of these tests, with all logs. pytest keeps it for the last three runs."""
    return tmp_path_factory.mktemp("kafka")


@pytest.fixture(scope="session")
def broker(folder: Path) -> Iterator[Broker]:
    try:
        classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    with Broker(folder / "broker") as broker:
        yield broker


@pytest.fixture(scope="session")
def service(folder: Path) -> Iterator[ServiceProcess]:
    with ServiceProcess(folder / "service") as service:
        yield service


@pytest.fixture(scope="session")
def orders(broker: Broker) -> str:
    """Return the topic of orders, which the plain example of deploy/ counts."""
    write_orders(broker)
    return "orders"


@pytest.fixture
def new_group(request: pytest.FixtureRequest, broker: Broker, service: ServiceProcess, folder: Path) -> Iterator[NewGroup]:
    """Yield a function that makes applications with records in their topics, which end with the test. They ask the shared
    service unless `optassign_url` is given."""
    shown = request.node.stash.setdefault(_SHOWN, [lambda: [service.log]])
    with ExitStack() as stack:

        def make(name: str, **properties: object) -> StreamsApplication:
            # On a busy machine the service is slow: 6 s is below the session's time-out, and some tests allow more.
            settings = {"optassign_url": service.url, "optassign_timeout_ms": 6_000, **PATIENT, **properties}
            group = stack.enter_context(StreamsApplication(broker, name, folder, **settings))
            shown.append(group.logs)
            group.load.write(PRELOAD)
            group.load.run(RATE)
            return group

        yield make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        error, _, tails = str(call.excinfo.value if call.excinfo else "").partition("\n---")
        if not tails:  # an error of a wait shows the logs itself
            for logs in item.stash.get(_SHOWN, []):
                report.sections.append(("logs", "\n".join(tail_logs(logs()))))
        # The error is shown before and after the logs, for readers who see only a part.
        wrong = ("what went wrong", error[:_LONGEST_ERROR])
        report.sections[:] = [wrong, *report.sections, wrong]
    return report

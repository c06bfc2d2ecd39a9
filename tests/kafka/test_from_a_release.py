"""Tests of a release folder: an application outside the checkout in shadow mode, active and back; and an upgrade to the next
version and back, with recordings, a pause, and jars of both versions in one group."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from example_applications import ORDER_PARTITIONS, ExampleApplication, run_example
from released import NEXT, VERSION, build_application, build_release, install_service, run

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, find_free_ports

pytestmark = pytest.mark.long


class Released:
    """A release, the command of its service, and an application with its jar."""

    def __init__(self, folder: Path, version: str, local: Path) -> None:
        self.version = version
        self.folder = build_release(folder, version)
        self.optassign = install_service(self.folder, folder / "venv")
        target = build_application(self.folder, version, folder / "application", local)
        options = ["-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        self.application = ["java", *options, "-cp", f"{target / 'orders.jar'}:{target / 'lib'}/*", "example.OrdersApplication"]

    def ask(self, *arguments: str) -> Any:
        """Run a command of the service and return its JSON."""
        return json.loads(run(self.optassign, *arguments, "--json", folder=self.folder))

    @contextmanager
    def serve(self, folder: Path, port: int) -> Iterator[str]:
        """Run the service on a folder of recordings, and yield its address."""
        serve = [str(self.optassign), "serve", "--port", str(port), "--recordings", str(folder / "recordings")]
        number = len(list(folder.glob("service-*.log")))  # a separate log, since readiness is read from it
        process = ChildProcess(serve, folder / f"service-{number}-{self.version}.log")
        try:
            logs = [process.log]
            await_condition("the service", lambda: "worker_ready" in process.log.read_text(), logs=lambda: logs)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.stop()


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Released, Released]:
    """Return a release of this version and one of the next."""
    if shutil.which("mvn") is None or shutil.which("javac") is None:
        pytest.skip("needs a JDK and Maven")
    local = tmp_path_factory.mktemp("repository")
    return (
        Released(tmp_path_factory.mktemp("release"), VERSION, local),
        Released(tmp_path_factory.mktemp("next"), NEXT, local),
    )


def make_settings(broker: Broker, application: str, **more: object) -> dict[str, object]:
    times = {"session.timeout.ms": 30_000, "heartbeat.interval.ms": 500, "commit.interval.ms": 500}
    plugin = {"task.assignor.class": "io.github.optassign.OptassignTaskAssignor"}
    return {"bootstrap.servers": broker.address, "application.id": application, **times, **plugin, **more}


def test_the_quick_start_from_shadow_mode_to_active_and_back(
    releases: tuple[Released, Released], broker: Broker, orders: str, tmp_path: Path
) -> None:
    assert orders
    release, _ = releases
    (port,) = find_free_ports(1)
    with release.serve(tmp_path, port) as url:
        served = {"optassign.url": url, "optassign.timeout.ms": 10_000}
        shadow = make_settings(broker, "released", **served, **{"optassign.mode": "shadow"})
        with run_example(release.application, tmp_path / "shadow", shadow) as application:
            application.start("a", "b")
            application.await_rebalance(2, "kafka-high-availability")
        with run_example(release.application, tmp_path / "served", make_settings(broker, "released", **served)) as application:
            application.start("a", "b")
            application.await_rebalance(2, "cp-sat")
        recorded = run(release.optassign, "record", "ls", "--recordings", str(tmp_path / "recordings"), folder=tmp_path)
        assert "released/" in recorded
    with run_example(release.application, tmp_path / "alone", make_settings(broker, "released")) as application:
        application.start("a", "b")
        application.await_rebalance(2, "planner")
    without = {key: value for key, value in make_settings(broker, "released").items() if key != "task.assignor.class"}
    with run_example(release.application, tmp_path / "back", without) as application:
        application.start("a", "b")
        stated = ("--max-warmup-replicas", "6", "--num-standby-replicas", "1", "--no-outlook", "--sample", "0")
        asked = ("inspect", "--bootstrap-server", broker.address, "--group", "released", *stated)

        def rolled_back() -> bool:
            seen = release.ask(*asked)
            return len(seen["instances"]) == 2 and seen["assignor"] == "high-availability"

        await_condition("Kafka's default", rolled_back, logs=lambda: sorted((tmp_path / "back").glob("*/log")))
        assert not application.read_rebalances()


def test_an_upgrade_and_a_downgrade(releases: tuple[Released, Released], broker: Broker, orders: str, tmp_path: Path) -> None:
    """Instances with jars of both versions share the group, and each version leads."""
    assert orders
    old, new = releases
    (port,) = find_free_ports(1)
    settings = make_settings(broker, "changed", **{"optassign.url": f"http://127.0.0.1:{port}", "optassign.timeout.ms": 10_000})
    with ExitStack() as stack:
        olds = stack.enter_context(run_example(old.application, tmp_path / "old", settings))
        news = stack.enter_context(run_example(new.application, tmp_path / "new", settings))
        with old.serve(tmp_path, port) as url:
            olds.start("a")
            await_answer(olds, news, 1)
            news.start("b")
            await_answer(olds, news, 2)
            run(old.optassign, "pause", "changed", "--url", url, folder=tmp_path)
        with new.serve(tmp_path, port) as url:
            assert is_paused(url), "the pause has come along"
            run(new.optassign, "resume", "changed", "--url", url, folder=tmp_path)
            olds.kill("a")  # the jar of the next version leads now
            await_answer(olds, news, 1, led_by=news)
            olds.start("c")
            await_answer(olds, news, 2, led_by=news)
            run(new.optassign, "pause", "changed", "--url", url, folder=tmp_path)
        with old.serve(tmp_path, port) as url:
            assert is_paused(url), "and goes back"
            run(old.optassign, "resume", "changed", "--url", url, folder=tmp_path)
            news.kill("b")
            await_answer(olds, news, 1, led_by=olds)
    for release in releases:  # each reads all recordings, and finds no rule broken
        listed = sorted((tmp_path / "recordings").rglob("*.json.gz"))
        assert len(listed) >= 4
        for file in listed:
            run(release.optassign, "validate", file, folder=tmp_path)
            run(release.optassign, "record", "show", file, folder=tmp_path)


def is_paused(url: str) -> bool:
    with urlopen(f"{url}/v1/applications/changed", timeout=30) as response:
        return bool(json.load(response)["paused"])


def await_answer(
    olds: ExampleApplication, news: ExampleApplication, clients: int, led_by: ExampleApplication | None = None
) -> None:
    """Wait until the service has answered a rebalance of `clients` instances, led by `led_by` if given."""
    groups = [olds, news] if led_by is None else [led_by]
    wanted = (str(ORDER_PARTITIONS), str(clients), "cp-sat")
    before = [group.read_rebalances().count(wanted) for group in groups] if led_by is not None else [0, 0]

    def reached() -> bool:
        return any(group.read_rebalances().count(wanted) > count for group, count in zip(groups, before, strict=True))

    await_condition(f"a rebalance {wanted}", reached, found=lambda: [group.read_rebalances() for group in groups])

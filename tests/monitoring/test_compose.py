"""Tests that the compose file fits its schema, and that its programs work together; they run here without containers.

Paths, host names and ports are translated; only Grafana is left out. The Prometheus that the file configures evaluates the
dashboard's queries, once with the service and once with JMX only.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from confluent_kafka import Producer
from dashboards import draw_dashboard
from deploying import ROOT, check_compose
from example_applications import build_example

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.jars import ToolMissingError, classpath
from optassign_benchmarks.kafka.processes import ChildProcess, await_condition, find_free_ports

pytestmark = pytest.mark.long

FOLDER = ROOT / "deploy" / "compose"
FILE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
MONITORING = ROOT / "docs" / "monitoring"
TOKEN = "token-of-this-test-0123456789"
_ORDERS = 6_000
NEEDS_SERVICE = {"Seconds to an answer", "Recordings"}
"""Panels whose data only the service has."""
NEEDS_A_MOVE = {"Until the plan is reached"}
"""Panels that are empty in a group that is balanced at once."""
NEEDS_BOUND = "restore_work_gap_offsets"
"""A measure whose bound only the service proves."""


def test_it_fits_the_schema() -> None:
    check_compose(FILE)
    broken = json.loads(json.dumps(FILE))
    broken["services"]["broker"]["imaeg"] = "x"
    with pytest.raises(AssertionError, match="imaeg"):
        check_compose(broken)


def test_files_that_it_mounts_are_there() -> None:
    mounted = [
        volume.split(":")[0]
        for service in FILE["services"].values()
        for volume in service.get("volumes", [])
        if volume.startswith(".")
    ]
    assert len(mounted) > 7
    built = "../examples/plain/target"
    assert [path for path in mounted if path != built and not (FOLDER / path).is_file()] == []
    build = FILE["services"]["optassign"]["build"]
    assert (FOLDER / build["context"] / build["dockerfile"]).is_file()


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder `target` of the plain example."""
    try:
        classpath()
    except ToolMissingError as error:
        pytest.skip(str(error))
    if shutil.which("prometheus") is None:
        pytest.skip("needs Prometheus: apt-get install prometheus")
    return build_example("plain", "package", tmp_path_factory.mktemp("examples")) / "target"


def read_broker_properties() -> dict[str, str]:
    """Return the broker's properties, translated from its environment as its image does; listeners are the test's own."""
    given = FILE["services"]["broker"]["environment"]
    found = {name.removeprefix("KAFKA_").lower().replace("_", "."): value for name, value in given.items()}
    own = ("listener", "quorum", "process.roles", "node.id")
    return {name: value for name, value in found.items() if not any(word in name for word in own)}


class Stack:
    """The programs of the compose file, with the ports of the instances' exporters."""

    def __init__(self, prometheus: int, exporters: list[int], processes: list[ChildProcess]) -> None:
        self.exporters, self.processes = exporters, processes
        self._prometheus, self._start = prometheus, time.time()

    def ask(self, query: str) -> list[dict[str, Any]]:
        """Return the present series of a query, without NaN; empty if Prometheus does not answer."""
        url = f"http://127.0.0.1:{self._prometheus}/api/v1/query?{urlencode({'query': query})}"
        try:
            with urlopen(url, timeout=30) as response:
                data = json.load(response)["data"]["result"]
        except URLError:
            return []
        return [series for series in data if series["value"][1] != "NaN"]

    def ask_range(self, query: str) -> list[dict[str, Any]]:
        """Return the series of a query since the start, one point per second."""
        end = time.time()
        asked = {"query": fill_in(query), "start": self._start, "end": end, "step": 1}
        with urlopen(f"http://127.0.0.1:{self._prometheus}/api/v1/query_range?{urlencode(asked)}", timeout=60) as response:
            found: list[dict[str, Any]] = json.load(response)["data"]["result"]
        return found

    def await_series(self, query: str, count: int = 1) -> list[dict[str, Any]]:
        """Return the series of a query, once there are `count` of them."""
        logs = [process.log for process in self.processes]
        await_condition(f"{count} × {query}", lambda: len(self.ask(query)) >= count, logs=lambda: logs)
        return self.ask(query)


@contextmanager
def run_compose(target: Path, folder: Path, *, with_service: bool) -> Iterator[Stack]:
    """Run the broker, three instances, Prometheus and, if requested, the service."""
    service_port, prometheus_port, *exporters = find_free_ports(5)
    services = FILE["services"]
    with ExitStack() as stack:
        processes: list[ChildProcess] = []

        def run(name: str, command: list[str], environment: dict[str, str]) -> None:
            processes.append(ChildProcess(command, folder / f"{name}.log", environment={**os.environ, **environment}))
            stack.callback(processes[-1].kill)

        broker = stack.enter_context(Broker(folder / "broker", properties=read_broker_properties()))
        (script,) = services["topics"]["command"]
        topics = script.partition("for topic in ")[2].partition(";")[0].split()
        broker.create_topics(topics, int(script.partition("--partitions ")[2].split(";")[0]))
        producer = Producer({"bootstrap.servers": broker.address})
        for number in range(_ORDERS):
            producer.produce(topics[0], key=f"customer-{number % 300}", value=str(number))
        producer.flush()

        if with_service:
            command = [sys.executable, "-m", "optassign.cli", "serve", "--recordings", str(folder / "recordings")]
            command += ["127.0.0.1" if each == "0.0.0.0" else each for each in services["optassign"]["command"]]
            run("service", [*command, "--port", str(service_port)], {"OPTASSIGN_TOKEN": TOKEN})
        for number, port in enumerate(exporters):
            places = {
                "/opt/orders": str(target),
                "/etc/jmx-exporter.yml": str(MONITORING / "jmx-exporter.yml"),
                "=9404:": f"=127.0.0.1:{port}:",
            }
            command = [str(part) for part in services["orders"]["command"]]
            for old, new in places.items():
                command = [part.replace(old, new) for part in command]
            given = dict(services["orders"]["environment"])
            given |= {"BOOTSTRAP_SERVERS": broker.address, "STATE_DIR": str(folder / f"state-{number}")}
            given |= {"OPTASSIGN_URL": f"http://127.0.0.1:{service_port}", "OPTASSIGN_TOKEN": TOKEN}
            if not with_service:
                del given["OPTASSIGN_URL"], given["OPTASSIGN_TOKEN"]
            run(f"orders-{number}", [command[0], "-Xmx128m", "-XX:TieredStopAtLevel=1", *command[1:]], given)
        settings = write_prometheus(folder, service_port, exporters, with_service=with_service)
        listen = f"--web.listen-address=127.0.0.1:{prometheus_port}"
        storage = f"--storage.tsdb.path={folder / 'prometheus'}"
        run("prometheus", ["prometheus", f"--config.file={settings}", storage, listen], {})
        yield Stack(prometheus_port, exporters, processes)


def write_prometheus(folder: Path, service: int, exporters: list[int], *, with_service: bool) -> Path:
    """Write Prometheus's settings with this test's ports and intervals of a second."""
    settings = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))
    settings["global"] = dict.fromkeys(settings["global"], "1s")
    settings["rule_files"] = [str(MONITORING / name) for name in settings["rule_files"]]
    (folder / "token").write_text(TOKEN, encoding="utf-8")
    own, instances = settings["scrape_configs"]
    own["authorization"]["credentials_file"] = str(folder / "token")
    own["static_configs"] = [{"targets": [f"127.0.0.1:{service}"]}]
    instances.pop("dns_sd_configs")
    instances["static_configs"] = [{"targets": [f"127.0.0.1:{port}" for port in exporters]}]
    settings["scrape_configs"] = [own, instances] if with_service else [instances]
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return file


def list_queries(panel: dict[str, Any]) -> list[str]:
    return [fill_in(target["expr"]) for target in panel["targets"]]


def fill_in(query: str) -> str:
    """Return the text with values for Grafana's variables."""
    return query.replace("$application", ".*").replace("$__rate_interval", "1m")


@pytest.mark.parametrize("with_service", [True, False], ids=["service", "jmx-alone"])
def test_the_dashboard_shows_what_the_stack_does(application: Path, tmp_path: Path, *, with_service: bool) -> None:
    dashboard = json.loads((MONITORING / "dashboard.json").read_text(encoding="utf-8"))
    with run_compose(application, tmp_path, with_service=with_service) as stack:
        stack.await_series("up == 1", 4 if with_service else 3)
        stack.await_series('optassign_application_clients{application="orders"} == 3')
        # The panel of rebalances shows growth: a rebalance has to follow Prometheus's first scrape, which may be late.
        stack.processes[2 if with_service else 1].kill()
        stack.await_series('optassign_application_clients{application="orders"} == 2')
        empty = {
            (panel["title"], query)
            for panel in dashboard["panels"]
            for query in list_queries(panel)
            if "increase(" not in query and not stack.ask(query)
        }
        allowed = set() if with_service else {title for title, _ in empty} & NEEDS_SERVICE
        unexpected = {
            one for one in empty if one[0] not in allowed and NEEDS_BOUND not in one[1] and "expected_end" not in one[1]
        }
        assert unexpected == set()
        stack.await_series("sum by (mode, outcome) (increase(optassign_rebalances_total[1h])) > 0")
        nothing = draw_dashboard(dashboard, stack.ask_range, tmp_path / "dashboard.png")  # a picture for people
        assert nothing - NEEDS_A_MOVE == (set() if with_service else NEEDS_SERVICE)
        (variable,) = (one for one in dashboard["templating"]["list"] if one["type"] == "query")
        name = variable["query"].partition("(")[2].partition(",")[0]
        assert {series["metric"]["application"] for series in stack.ask(name)} == {"orders"}
        assert stack.ask('ALERTS{alertname="OptassignDown"}') == []
        jobs = {series["metric"].get("job") for series in stack.ask("optassign_application_tasks")}
        assert jobs == ({"optassign"} if with_service else {None}), "recorded from JMX only where there is no service"

"""Tests that alert rules fire as documented, and that rules and dashboard use existing metrics only."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from alerting import run_promtool
from pages import write_recording
from serving import make_state

from optassign.recordings.recording import read_recording
from optassign.service.metrics import Metrics

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "monitoring"
SERVER = (ROOT / "optassign/service/server.py").read_text(encoding="utf-8")
WATCHER = (ROOT / "docs/reference/generated/watch-metrics.md").read_text(encoding="utf-8")
METRICS = (ROOT / "java/client/src/main/java/io/github/optassign/metrics/AssignorMetrics.java").read_text(encoding="utf-8")


def list_metrics(tmp_path: Path) -> set[str]:
    """Return the metrics of the watcher, and of a service with one application; its own gauges are read from its code."""
    metrics = Metrics("test", 2)
    recording = read_recording(write_recording(tmp_path, make_state("measured"), datetime.now(UTC)))
    metrics.show_applied(recording)
    metrics.show_last_answer("measured", recording.summary)
    return set(re.findall(r"^(\w+?)(?:_created)?(?:\{| )", metrics.render().decode(), re.MULTILINE)) | {
        "optassign_request_seconds_bucket",
        "optassign_rebalances_total",
        "optassign_reports_total",
        "optassign_refused_total",
        "optassign_certificate_expires_timestamp_seconds",
        *(f"optassign_{name}" for name in re.findall(r'\badd\(\s*"(\w+)"', SERVER)),
        *re.findall(r"`(optassign_watch_\w+)`", WATCHER),
    }


def list_expressions() -> list[str]:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    found = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    found += [variable["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
    rules = (FOLDER / "alerts.yml").read_text(encoding="utf-8")
    return [*found, *re.findall(r"expr: (.*(?:\n\s+(?!for:).*)*)", rules)]


def test_every_metric_exists(tmp_path: Path) -> None:
    known = list_metrics(tmp_path)
    used = {name for text in list_expressions() for name in re.findall(r"\boptassign_\w+", text)}
    assert len(used) > 15
    assert used <= known | list_attributes()


def list_attributes() -> set[str]:
    """Return the metrics that the exporter makes of the plug-in's JMX attributes."""
    return {f"optassign_assignor_{name.replace('-', '_')}" for name in re.findall(r'names\.put\(\s*"([a-z-]+)"', METRICS)}


def test_jmx_rules_record_metrics_of_the_service(tmp_path: Path) -> None:
    rules = (FOLDER / "jmx-rules.yml").read_text(encoding="utf-8")
    recorded = set(re.findall(r"record: (optassign_\w+)", rules))
    assert len(recorded) > 12
    assert recorded <= list_metrics(tmp_path)
    assert set(re.findall(r"\boptassign_\w+", rules)) - recorded <= list_attributes()


def test_rules() -> None:
    checks = [["check", "rules", name] for name in ("alerts.yml", "jmx-rules.yml")]
    for command in (*checks, *(["test", "rules", name] for name in ("alerts-test.yml", "jmx-rules-test.yml"))):
        run_promtool(*command)


def test_the_dashboard_can_be_parsed(tmp_path: Path) -> None:
    """Prometheus's parser accepts the queries, with values for Grafana's variables."""
    dashboard = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    expressions = [text.replace("$__rate_interval", "5m").replace("$application", ".*") for text in texts]
    rules = [{"record": f"r{place}", "expr": expression} for place, expression in enumerate(expressions)]
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"groups": [{"name": "g", "rules": rules}]}), encoding="utf-8")
    run_promtool("check", "rules", str(file))

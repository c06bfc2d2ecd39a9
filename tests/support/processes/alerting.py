"""Scrapes of metrics, and checks by promtool of the alerts that fire on them."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml
from deploying import ROOT
from serving_here import ServiceHere

RULES = ROOT / "docs" / "monitoring" / "alerts.yml"
_USED = set(re.findall(r"\boptassign_\w+", RULES.read_text(encoding="utf-8")))
_SAMPLE = re.compile(r"^((optassign_\w+)(?:\{.*\})?) (\S+)$", re.MULTILINE)


def list_alerts() -> list[str]:
    """Return the names of all alerts."""
    return re.findall(r"alert: (\w+)", RULES.read_text(encoding="utf-8"))


def run_promtool(*arguments: str) -> None:
    """Run promtool in the folder of the rules, and assert that it reports no fault."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is missing: apt-get install prometheus")
    done = subprocess.run([promtool, *arguments], cwd=RULES.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Samples:
    """Samples of the metrics that alerts use, one per minute. day: the first minute in seconds since 1970, which is 0 for
    promtool."""

    def __init__(self, day: float) -> None:
        self._day = day
        self._series: dict[str, dict[int, str]] = {}
        self.minute = 0

    def add(self, text: str) -> None:
        """Add the samples of this minute; text: those of all metrics, in Prometheus's format."""
        for series, name, value in _SAMPLE.findall(text):
            if name in _USED:
                self._add(series, self._shift(name, float(value)))

    def check(self, folder: Path, alert: str, *, silent: int, fires: int) -> None:
        """Assert by promtool that an alert does not fire at one minute, and fires once at another."""
        expression = f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)'
        tests = [
            {"expr": expression, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": value}]}
            for minute, value in ((silent, 0), (fires, 1))
        ]
        series = [
            {"series": name, "values": " ".join(values.get(minute, "_") for minute in range(self.minute + 1))}
            for name, values in self._series.items()
        ]
        file = folder / "alert-test.yml"
        content = {
            "rule_files": [str(RULES)],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": tests}],
        }
        file.write_text(yaml.safe_dump(content), encoding="utf-8")
        run_promtool("test", "rules", str(file))

    def _add(self, series: str, value: str) -> None:
        self._series.setdefault(series, {})[self.minute] = value

    def _shift(self, name: str, value: float) -> str:
        return f"{value - self._day:.3f}" if name.endswith("_timestamp_seconds") else f"{value:.6f}"


class Scrapes(Samples):
    """Samples of a service."""

    def __init__(self, service: ServiceHere, day: float) -> None:
        super().__init__(day)
        self._service = service
        self.scrape()

    def scrape(self) -> None:
        """Scrape the service, which may be down."""
        try:
            text = self._service.client.get("/metrics").text
        except (httpx.TransportError, RuntimeError):  # the service has ended, and the client is closed
            text = ""
        self._add('up{job="optassign"}', "1" if text else "0")
        self.add(text)

    def pass_minutes(self, minutes: int) -> None:
        """Advance the clocks, and scrape each minute."""
        for _ in range(minutes):
            self._service.pass_seconds(60)
            self.minute += 1
            self.scrape()

    def pass_unseen(self, minutes: int) -> None:
        """Advance the clocks without a scrape."""
        self._service.pass_seconds(60 * minutes)
        self.minute += minutes

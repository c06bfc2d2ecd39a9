"""Tests that the rules of the JMX exporter export every attribute of the plug-in, counters as counters."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "java" / "client" / "src" / "main" / "java" / "io" / "github" / "optassign" / "metrics" / "AssignorMetrics.java"


def test_every_attribute_has_a_name_a_type_and_a_label() -> None:
    rules = yaml.safe_load((ROOT / "docs" / "monitoring" / "jmx-exporter.yml").read_text(encoding="utf-8"))["rules"]
    attributes = re.findall(r'names\.put\(\s*"([a-z-]+)"', SOURCE.read_text(encoding="utf-8"))
    assert len(attributes) > 10
    found = {}
    for attribute in attributes:
        told = f"optassign<type=assignor-metrics, application-id=orders><>{attribute}: 12.5"
        rule, match = next((rule, match) for rule in rules if (match := re.search(rule["pattern"], told)))
        assert rule["labels"] == {"application": "$1"}
        assert match[1] == "orders"
        # The exporter replaces characters that names may not have by _.
        found[attribute] = (rule["name"].replace("$2", match[2]).replace("-", "_"), rule["type"])
    assert found["rebalance-total"] == ("optassign_assignor_rebalance_total", "COUNTER")
    assert found["warmup-count"] == ("optassign_assignor_warmup_count", "GAUGE")
    assert {kind for name, (_, kind) in found.items() if name.endswith("-total")} == {"COUNTER"}
    assert {kind for name, (_, kind) in found.items() if not name.endswith("-total")} == {"GAUGE"}

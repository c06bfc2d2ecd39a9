"""What a weight buys: the study proves each of its rows, and the pages cite what its table has."""

from __future__ import annotations

import re
from pathlib import Path

from optassign_benchmarks.studies.answers import weights

DOCS = Path(__file__).parents[2] / "docs"


def test_every_plan_is_proven_and_on_the_front() -> None:
    table, wrong = weights.run(quick=True)
    assert wrong == []
    assert table.count("| yes |") == len(weights.STICKINESS)


def test_the_section_on_weights_cites_the_table() -> None:
    table = (
        (DOCS / "benchmarks.md").read_text(encoding="utf-8").partition("<!-- weights -->")[2].partition("<!-- /weights -->")[0]
    )
    rows = {tuple(cells[:2]): cells for cells in (line.strip("| ").split(" | ") for line in table.splitlines())}
    section = (DOCS / "getting-started.md").read_text(encoding="utf-8").partition("## Weights\n")[2]
    cited = re.findall(r"[Ww]ith(?: a stickiness of)? ([\d,]+) (?:the large group|it) restores ([\d.]+%)", section)
    assert len(cited) == 2
    for stickiness, share in cited:
        assert rows["1,000 × 100", stickiness][3] == share

"""Answers for random tiny groups agree with an enumeration that follows the rules alone."""

import json
from random import Random
from typing import Any

import pytest
from answer_checks import check_answer
from group_facts import Snapshot, read_group
from random_groups import make_group

import optassign


def answer(snapshot: Snapshot) -> dict[str, Any]:
    """Return the answer of the assignor, as JSON."""
    state = optassign.ApplicationState.model_validate_json(json.dumps(snapshot))
    decoded: dict[str, Any] = json.loads(optassign.assign(state, assignor="cp-sat").model_dump_json())
    return decoded


def find_causes(seeds: range) -> dict[int, set[str]]:
    """Return the causes of disagreement of each seed that has any."""
    causes = {}
    for seed in seeds:
        snapshot = make_group(Random(f"group {seed}"))
        findings = check_answer(read_group(snapshot), answer(snapshot))
        causes[seed] = {finding.cause for finding in findings if not finding.is_weakness}
    return {seed: found for seed, found in causes.items() if found}


def test_answers_agree_with_all_placements() -> None:
    assert find_causes(range(1, 151)) == {}


def test_a_group_under_load_with_costs_near_62_bits_agrees() -> None:
    assert find_causes(range(9_072, 9_073)) == {}


@pytest.mark.long
def test_five_thousand_answers_agree_with_all_placements() -> None:
    assert find_causes(range(1, 5_001)) == {}


SMALL = {
    "format": 1,
    "configs": {},
    "tasks": [{"id": f"0_{n}", "stateful": True, "changelog_end_offset": 50_000 * (n + 1)} for n in range(3)],
    "clients": [
        {"process_id": "a", "threads": 2, "previous_active": ["0_0", "0_1", "0_2"], "lags": {f"0_{n}": -2 for n in range(3)}},
        {"process_id": "b", "threads": 1},
    ],
}
"""Client a runs three tasks, and the best target moves the smallest to client b."""


def find_with(change: dict[str, Any]) -> set[str]:
    """Return the causes found in the answer to SMALL, with changed fields of the row of restore work."""
    decoded = answer(SMALL)
    row = next(row for row in decoded["report"]["goals"] if (row["stage"], row["name"]) == ("plan", "restore_work"))
    row.update(change)
    return {finding.cause for finding in check_answer(read_group(SMALL), decoded) if not finding.is_weakness}


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({}, None),
        ({"value": 50_001}, "value of plan restore_work"),
        ({"bound": 50_001}, "bound of plan restore_work"),
    ],
)
def test_a_wrong_row_is_found(change: dict[str, Any], cause: str | None) -> None:
    assert find_with(change) == ({cause} if cause else set())


def test_a_worse_target_is_found() -> None:
    decoded = answer(SMALL)
    for row in decoded["plan"]:
        row["active"] = ["0_0", "0_1"] if row["process_id"] == "a" else ["0_2"]
    causes = {finding.cause for finding in check_answer(read_group(SMALL), decoded)}
    assert {"value of plan restore_work", "proven and not the best plan restore_work"} <= causes

"""Tests that the plug-in's check and the validator refuse the same answers, unless the verdict needs memory."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import pytest
from java_cases import write_cases

from optassign.formats.assignment import TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.judging.validation import Violation, validate
from optassign.measuring.placement import TaskPlacement
from optassign.measuring.ranks import Ranks


def looks_like_second_pass(state: ApplicationState, answer: TaskAssignment, violation: Violation) -> bool:
    """Return whether the JVM's form of R10's exception applies: no owner, and at most the acceptable lag above the least lag.

    The service may know the client that the first pass chose; the JVM does not.
    """
    if violation.rule not in ("R3", "R5") or violation.task is None or violation.process_id is None:
        return False
    if any(violation.task in client.previous_active for client in state.clients):
        return False
    ranks = Ranks(state)
    copies = TaskPlacement.of(state, answer).copies(violation.task) if violation.rule == "R5" else ()
    best = ranks.least_lag(violation.task, without=copies)
    return best is None or ranks.lag(violation.task, violation.process_id) <= best + state.configs.acceptable_recovery_lag


@pytest.mark.long
def test_the_jvm_refuses_what_the_validator_refuses() -> None:
    judged: Counter[str] = Counter()
    with gzip.open(write_cases("AnswerCasesTest", "answer-cases.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            state = ApplicationState.model_validate(case["snapshot"])
            answer = TaskAssignment.model_validate(case["answer"])
            found = [violation for violation in validate(state, answer) if violation.rule != "R7"]
            where = f"seed {case['seed']}: the JVM says {case['why']}, the validator {[str(violation) for violation in found]}"
            if case["why"] is not None:
                assert found or " in the plan" in case["why"], where
            elif found:
                assert all(looks_like_second_pass(state, answer, violation) for violation in found), where
                judged["by memory alone"] += 1
                continue
            judged.update({str(violation.rule) for violation in found} or {"right"})
    assert judged["right"] > 3_000, judged
    assert all(judged[rule] > 20 for rule in ("R1", "R2", "R3", "R4", "R5", "R6", "R8")), judged

"""Tests that the planner's follow-ups, slots and offload are those of the service for the same snapshots."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from java_cases import write_cases

from optassign.formats.assignment import KafkaStreamsAssignment, TargetAssignment, TaskAssignment
from optassign.formats.state import ApplicationState
from optassign.translating.answer import report_pace
from optassign.translating.snapshot import read_situation
from optassign_models.flows import find_offload
from optassign_models.problem import IntArray, Placement
from optassign_models.rebalance import find_offload_options
from optassign_models.results import OWNERS_HELD, Reason, Step, Warmups
from optassign_models.shares import compute_shares
from optassign_models.solving.followups import choose_delay, estimate_to_balance
from optassign_models.solving.situation import Situation
from optassign_models.solving.steps import update_progress
from optassign_models.warmups import Restoring, queue_warmups

Given = Sequence[KafkaStreamsAssignment] | Sequence[TargetAssignment]


@dataclass(frozen=True)
class Case:
    """A rebalance of the planner: its situation, and its answers with and without temporary offload."""

    where: str
    situation: Situation
    answer: TaskAssignment
    without: TaskAssignment


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = []
    with gzip.open(write_cases("FollowupCasesTest", "followup-cases.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            situation = read_situation(ApplicationState.model_validate(case["snapshot"]))
            answer, without = (TaskAssignment.model_validate(case[name]) for name in ("answer", "without_offload"))
            found.append(Case(f"seed {case['seed']}, step {case['step']}", situation, answer, without))
    return found


def to_step(situation: Situation, answer: TaskAssignment) -> Step:
    """Return the planner's answer as a step, with the copies that its follow-up waits for."""
    C = situation.problem.C
    task = {name: t for t, name in enumerate(situation.inventory.tasks)}

    def keys(role: str, clients: Given) -> IntArray:
        found = [task[name] * C + c for c, client in enumerate(clients) for name in getattr(client, role)]
        return np.array(sorted(found), dtype=np.int64)

    def placement(clients: Given) -> Placement:
        active, standby = keys("active", clients), keys("standby", clients)
        return Placement(active % C, standby // C, standby % C)

    assert answer.plan is not None
    now, plan = placement(answer.clients), placement(answer.plan)
    warmups = keys("warmup", answer.clients)
    wanted, held = (each.copy_keys(C, situation.problem.logged) for each in (plan, now))
    queue = np.setdiff1d(wanted, held)
    restoring = np.intersect1d(wanted, held)
    waiting = np.concatenate([queue, restoring[situation.problem.rank_of(restoring) > 0]])
    return Step(
        *(now, plan, Reason.FALLBACK, "fallback"),
        balanced=True,
        warmups=Warmups(warmups, waiting, is_queue_left=len(queue) > len(warmups), progress=update_progress(situation)),
        is_over_share=compute_shares(situation.problem).count_too_many(now.active) > 0,
    )


@pytest.mark.long
def test_the_planners_follow_ups_are_those_of_the_service(cases: list[Case]) -> None:
    compared: Counter[str] = Counter()
    for case in cases:
        where, situation, answer = case.where, case.situation, case.answer
        assert answer.report.pace == report_pace(situation.pace, situation.inventory.clients), where
        asked = next((c.followup_rebalance_ms for c in answer.clients if c.followup_rebalance_ms is not None), None)
        if asked is None or answer.plan is None:
            continue
        step = to_step(situation, answer)
        # The planner's report does not say whether owners were held back: without memory they may have been.
        steps = [step, replace(step, notes=(OWNERS_HELD,))] if situation.unconfirmed else [step]
        delays = [choose_delay(situation.problem, situation.pace, each) for each in steps]
        delay = min(delays, key=lambda each: abs(asked - each))
        assert abs(asked - delay) <= 1, f"{where}: the fallback asks after {asked} ms, the service after {delays}"
        compared["by the interval" if delay == 600_000 else "sooner"] += 1
    assert compared["sooner"] > 1_000, compared


@pytest.mark.long
def test_the_planners_slots_are_those_of_the_service(cases: list[Case]) -> None:
    compared: Counter[str] = Counter()
    for case in cases:
        situation, answer = case.situation, case.without  # offload comes after the warm-ups
        if answer.plan is None:
            continue
        step, problem = to_step(situation, answer), situation.problem
        assert step.plan is not None
        pace = situation.pace
        restoring = Restoring(situation.under_way, update_progress(situation), pace.rates(), pace.is_timed)
        keys, served = queue_warmups(problem, compute_shares(problem), step.plan, step.answer, restoring)
        slots = np.sort(keys[:served])
        assert step.warmups.keys.tolist() == slots.tolist(), f"{case.where}: the fallback's slots and the service's"
        most = min(problem.max_warmups, len(keys))
        compared["all of them" if most == len(keys) else "the first"] += 1
    assert min(compared[name] for name in ("all of them", "the first")) > 20, compared


@pytest.mark.long
def test_the_planner_offloads_as_the_service_does(cases: list[Case]) -> None:
    """Copies are the same, and the actives reach the minimum that the service's flow proves."""
    compared: Counter[str] = Counter()
    for case in cases:
        where, situation, answer, without = case.where, case.situation, case.answer, case.without
        if answer.report.to_balance_ms is None:
            assert answer.clients == without.clients, where
            continue
        offloaded, before = to_step(situation, answer), to_step(situation, without)
        assert answer.report.to_balance_ms == estimate_to_balance(situation.problem, situation.pace, before), where
        problem, plan, shares = situation.problem, before.plan, compute_shares(situation.problem)
        assert plan is not None
        now, then = (each.answer.copy_keys(problem.C, problem.logged) for each in (offloaded, before))
        assert now.tolist() == then.tolist(), f"{where}: a copy is elsewhere"
        high = shares.active.high
        if np.any(np.bincount(plan.active, minlength=problem.C) > high):
            assert answer.clients == without.clients, f"{where}: numbers say nothing of load"
            continue
        crowded = bool(np.any(np.bincount(before.answer.active, minlength=problem.C) > high))
        options = find_offload_options(problem, shares, plan, before.answer, answer.report.to_balance_ms // 1000, (60, 300))
        found = find_offload(options)
        assert found is not None
        least, value = found[1], options.evaluate(offloaded.answer.active)
        none = options.evaluate(before.answer.active)
        assert value == least, f"{where}: {none} without offload, {value} with the fallback's, {least} with the service's"
        compared["offloaded" if value < none else "crowded" if crowded else "nobody has too many"] += 1
        compared["changed roles"] += bool(np.any((offloaded.answer.active != before.answer.active)[problem.logged]))
    kinds = ("offloaded", "crowded", "nobody has too many", "changed roles")
    assert min(compared[kind] for kind in kinds) > 20, compared

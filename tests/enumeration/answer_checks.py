"""The comparison of an answer with the enumeration of its group."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from allowed_answers import Enumeration
from goal_orders import CONFIGURED, best, joins, puts_configured_goals_first
from group_facts import Group, exact
from limit_sets import find_most_moves, keeps
from placement_sets import GOALS, Copies, Placement, Vector
from share_bounds import Bounds

Answer = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """A disagreement of an answer with the rules, or (`is_weakness`) an optimum that an answer does not prove."""

    cause: str
    detail: str
    is_weakness: bool = False


class Check:
    """A comparison of one answer with all answers and targets that the rules allow; it collects findings."""

    def __init__(self, group: Group, answer: Answer) -> None:
        """Read the placements of the answer and of its target."""
        self.group = group
        self.answer = answer
        self.all = Enumeration(group)
        self.space = self.all.space
        self.goals = self.all.goals
        self.findings: list[Finding] = []
        self.now = self._read(answer["clients"])
        self.target = self.now if answer["plan"] is None else self._read(answer["plan"])

    def _read(self, rows: Sequence[dict[str, Any]]) -> Placement | None:
        """Return the placement that the rows list, or None if it breaks R1, R2 or R4."""
        numbers = {client.name: c for c, client in enumerate(self.group.clients)}
        placement: list[Copies] = []
        for t, task in enumerate(self.group.tasks):
            actives = [numbers[row["process_id"]] for row in rows if task.name in row["active"]]
            standbys = [numbers[row["process_id"]] for row in rows if task.name in row["standby"]]
            copies = (actives[0], frozenset(standbys)) if len(actives) == 1 else None
            if copies is None or len(standbys) != len(copies[1]) or copies not in self.space.copies_of(t):
                self._add("R1, R2 or R4", f"{task.name}: active on {actives}, standbys on {standbys}")
                return None
            placement.append(copies)
        return tuple(placement)

    def _add(self, cause: str, detail: str, is_weakness: bool = False) -> None:
        self.findings.append(Finding(cause, detail, is_weakness))

    def run(self) -> list[Finding]:
        """Return all findings."""
        if self.now is None or self.target is None:
            return self.findings
        if self.answer["report"]["termination"]["reason"] == "fallback":
            self._add("fallback", f"{self.answer['report']['notes']}")
        self._check_ranks(self.now)
        self._check_warmups(self.now, self.target)
        self._check_followup(self.now, self.target)
        self._check_limits(self.now, self.target)
        self._check_stable(self.now)
        vector = self.space.sum_up(self.target)
        if self.group.preset == "weighted":
            self._check_weighted(vector)
        else:
            self._check_targets(vector)
        self._check_rebalance(self.now, self.target)
        return self.findings

    def _check_ranks(self, now: Placement) -> None:
        for t, copies in enumerate(now):
            if not self.space.keeps_ranks(t, copies):
                self._add("R3 or R5", f"{self.group.tasks[t].name}: {copies} with ranks {self.group.ranks[t]}")

    def _check_warmups(self, now: Placement, target: Placement) -> None:
        numbers = {task.name: t for t, task in enumerate(self.group.tasks)}
        warmups = [(numbers[name], c) for c, row in enumerate(self._rows()) for name in row["warmup"]]
        if len(warmups) > self.group.configs.get("max_warmup_replicas", 2):
            self._add("R6", f"{len(warmups)} warm-ups")
        for t, c in warmups:
            if not self.group.tasks[t].logged or c in {now[t][0], *now[t][1]}:
                self._add("R6", f"a warm-up of {self.group.tasks[t].name} on {self.group.clients[c].name}")
            if c not in {target[t][0], *target[t][1]}:
                self._add("warm-up off target", f"{self.group.tasks[t].name} on {self.group.clients[c].name}")

    def _rows(self) -> list[dict[str, Any]]:
        rows = {row["process_id"]: row for row in self.answer["clients"]}
        return [rows[client.name] for client in self.group.clients]

    def _check_followup(self, now: Placement, target: Placement) -> None:
        asks = [c for c, row in enumerate(self._rows()) if row["followup_rebalance_ms"] is not None]
        due = now != target and not self.answer["report"]["stalled"]
        if bool(asks) != (due or self.group.has_unknown_lag):
            self._add("R8", f"asked by {asks}; at the target: {now == target}; unknown lags: {self.group.has_unknown_lag}")
        if len(asks) > 1:
            self._add("R8", f"asked by {asks}")

    def _check_limits(self, now: Placement, target: Placement) -> None:
        kept = {limit["name"] for limit in self.all.limits}
        sums = self.space.sum_up(now)
        at_target = self.space.sum_up(target)
        most = find_most_moves(self.group)
        if most is not None and sums[GOALS.index("free_moves")] > most:
            self._add("most_active_moves", f"{sums[GOALS.index('free_moves')]} moves that R3 does not force")
        if not keeps(self.space, self.all.limits, target, at_target):
            self._add("limit broken", f"the target breaks one of {sorted(kept)}")
        for limit, row in zip(self.group.limits, self.answer["report"].get("limits", []), strict=True):
            if limit["kind"] == "most_active_moves":
                if row["gave_way"]:
                    self._add("limit gave way", f"{limit}")
                continue
            if row["gave_way"] != (limit["name"] not in kept):
                self._add("limit gave way", f"{limit['name']}: {row}; hold together: {sorted(kept)}")
            holds = keeps(self.space, [limit], target, at_target) and keeps(self.space, [limit], now, sums)
            if row["kept"] != holds and not any(self._warmups()):
                self._add("limit row", f"{limit['name']}: {row}")

    def _warmups(self) -> list[list[str]]:
        return [row["warmup"] for row in self._rows()]

    def _check_stable(self, now: Placement) -> None:
        """Report a group that is stable (R7) and whose answer is not its previous assignment."""
        group = self.group
        before = [group.previous(t) for t in range(len(group.tasks))]
        if self.all.about_load or group.has_unknown_lag or group.preset != "lexicographic":
            return
        known: list[Copies] = [copies for copies in before if copies is not None]
        if len(known) < len(before):
            return
        for t, (active, standbys) in enumerate(known):
            if not self.space.keeps_ranks(t, (active, standbys)) or any(group.clients[c].drains for c in (active, *standbys)):
                return
        vector = self.space.sum_up(tuple(known))
        is_stable = any(vector in self.all.at_once(bounds) for bounds in self.all.bounds)
        if is_stable and (now != tuple(known) or any(self._warmups()) or self.answer["plan"] is not None):
            self._add("R7", f"stable with {known}, and the answer is {now}")

    def _check_weighted(self, vector: Vector) -> None:
        """Compare the sum of preset weighted with its minimum, unless all changelogs are empty: the sum is undefined then."""
        logged = [t for t, task in enumerate(self.group.tasks) if task.logged]
        if logged and not any(self.group.whole(t) for t in logged):
            return
        targets = self.all.in_limits
        key = self.goals.key("weighted_cost")
        least = best(targets, key)[0]
        self._check_rows("plan", ["weighted_cost"], vector, targets)
        if key(vector) != least and not any(row["name"] == "weighted_cost" for row in self.answer["report"]["goals"]):
            self._add("weighted, taken at a greater cost", f"{key(vector)} instead of {least}")

    def _check_targets(self, vector: Vector) -> None:
        stages = {row["stage"] for row in self.answer["report"]["goals"]}
        tried: list[list[Finding]] = []
        for bounds in self.all.bounds:
            before = len(self.findings)
            self._check_targets_within(vector, bounds, stages)
            tried.append(self.findings[before:])
            del self.findings[before:]
        chosen: list[Finding] = min(tried, key=_order_attempts)
        self.findings += chosen

    def _check_targets_within(self, vector: Vector, bounds: Sequence[Bounds], stages: set[str]) -> None:
        judged = not self.all.about_load and puts_configured_goals_first(self.group)
        at_once = self.all.at_once(bounds) if judged else []
        targets = self.all.targets(bounds)
        if self.all.counts_are_bounded and any(self.space.imbalances(vector, bounds)):
            found = self.space.imbalances(vector, self.space.bounds)
            least = min(self.space.measure_imbalances(self.all.in_limits, self.space.bounds).values())
            self._add(OUT_OF_BOUNDS, f"imbalances {found}; the least: {least}")
            return
        if self.answer["plan"] is None and "plan" not in stages:
            if judged and vector not in self.all.at_once(bounds, DISK_SLACK, "free_moves"):
                self._add("not balanced at once", f"there are {len(at_once)} such answers")
            moves = self.goals.key("active_moves")
            if at_once and moves(vector) > min(map(moves, at_once)):
                self._add("balanced at once with more moves", f"{moves(vector)}, possible: {min(map(moves, at_once))}")
            named = {*CONFIGURED} & {*self.all.goals_in_order}
            goals = [row["name"] for row in self.answer["report"]["goals"]]
            self._check_rows("now", [goal for goal in goals if goal in named] + ["active_moves"], vector, at_once)
        elif at_once:
            moved = self.goals.key("active_moves")
            how = " with limits, owners held back" if self.group.limits and self._are_owners_held() else ""
            self._add(f"balanced at once, not found{how}", f"{len(at_once)} answers, the best moves {min(map(moved, at_once))}")
        if "plan" in stages:
            if self.all.about_load:
                targets = self._within_tolerance(targets, vector)
            self._check_rows("plan", self.all.goals_in_order, vector, targets)

    def _within_tolerance(self, targets: list[Vector], vector: Vector) -> list[Vector]:
        """Return the targets whose load is within the tolerance of the reported bound, or at most that of the target."""
        bounds = [row["bound"] for row in self.answer["report"]["goals"] if row["name"] == "load" and row["bound"] is not None]
        key = self.goals.key("load")
        if vector not in targets:
            self._add("idle threads under load", "the target lets threads idle, or a draining client has an active task", True)
            targets = self.all.in_limits
            if not self.goals.loads.uses_draining(self._actives()):
                targets = [other for other in targets if not self.goals.loads.uses_draining(self.space.actives_on(other))]
        most = max([Fraction(key(vector)), *((1 + self.goals.loads.tolerance) * exact(bound) for bound in bounds)])
        return [target for target in targets if key(target) <= most]

    def _check_rows(self, stage: str, order: Sequence[str], vector: Vector, vectors: list[Vector]) -> None:
        """Compare the rows of a stage with the best of the vectors, goal after goal."""
        rows = {row["name"]: row for row in self.answer["report"]["goals"] if row["stage"] == stage}
        for goal, row in rows.items():
            if goal == "load":
                self._compare_value(goal, row, self.goals.loads.greatest(self._actives()))
            elif goal == "disk" and not joins(self.group, goal):
                continue  # the rules do not define multiples of a mean of zero
            elif goal in GOALS or goal in {*CONFIGURED, "weighted_cost"}:
                self._compare_value(goal, row, self.goals.shown(goal, vector))
        if stage == "plan" and [goal for goal in rows if goal in order] != [goal for goal in order if goal in rows]:
            self._add("order of goals", f"{[*rows]} instead of {[*order]}")
        if missing := [goal for goal in order if goal not in rows]:
            self._add("goal without a row", f"{stage}: {missing}; rows {[*rows]}")
            return
        for goal in order:
            if not vectors:
                return
            key = self.goals.key(goal)
            least, left = best(vectors, key)
            label = f"{stage} {goal}" + (" after load" if "load" in order[: order.index(goal)] else "")
            self._compare_bound(label, rows[goal], key(vector) == least, self.goals.shown(goal, left[0]))
            vectors = [other for other in vectors if key(other) <= key(vector)]

    def _actives(self) -> Vector:
        """Return the active tasks of each client of the target, as bits."""
        actives = [0] * len(self.group.clients)
        for t, (active, _) in enumerate(self.target or ()):
            actives[active] |= 1 << t
        return tuple(actives)

    def _compare_value(self, goal: str, row: dict[str, Any], value: Fraction) -> None:
        shown = exact(row["value"])
        slack = Fraction(0) if goal in GOALS else abs(value) / 10**12 + Fraction(6, 10**7) * (goal in {"load", "disk"})
        if abs(shown - value) > slack:
            self._add(f"value of {row['stage']} {goal}", f"{row['value']} instead of {float(value)} = {value}")

    def _compare_bound(self, label: str, row: dict[str, Any], is_best: bool, least: Fraction) -> None:
        goal, bound = row["name"], row["bound"]
        sign = -1 if goal in {"tag_spread", "copies_on_target", "actives_on_target"} else 1
        slack = abs(least) / 10**12 if goal in {"weighted_cost", "load", "disk"} else 0
        if bound is not None and sign * exact(bound) > sign * least + slack:
            self._add(f"bound of {label}", f"{bound}, and {float(least)} is possible; {row}")
        if not row["proven"]:
            if not is_best:
                self._add(f"not the best {label}", f"{row}; best {float(least)}", is_weakness=True)
            else:
                self._add(f"unproven {label}", f"{row}", is_weakness=True)
        elif not is_best and goal != "load" and (goal != "disk" or exact(row["value"]) > least + DISK_UNIT):
            self._add(f"proven and not the best {label}", f"{row}; best {float(least)}")
        elif goal == "load" and exact(row["value"]) > (1 + self.goals.loads.tolerance) * least:
            self._add(f"proven beyond the tolerance: {label}", f"{row}; best {float(least)}")

    def _check_rebalance(self, now: Placement, target: Placement) -> None:
        """Compare the goals of this rebalance, given the target, with the best of all answers that keep R1 to R5."""
        rows = {row["name"]: row for row in self.answer["report"]["goals"] if row["stage"] == "rebalance"}
        if not rows:
            return
        held = self._are_owners_held()
        options = [
            [c for c in self.space.copies_of(t) if self.space.keeps_ranks(t, c) and (not held or self._keeps_owner(t, c))]
            for t in range(len(self.group.tasks))
        ]
        sums = {self._add_up(answer, target) for answer in product(*options)}
        mine = self._add_up(now, target)
        for number, name in enumerate(REBALANCE):
            if name in rows:
                sign = -1 if name in {"copies_on_target", "actives_on_target"} else 1
                self._compare_value("active_moves", rows[name], Fraction(sign * mine[number]))
        if not sums or "offload" in rows or find_most_moves(self.group) is not None or [*rows] != [*REBALANCE]:
            return
        if not all(self._keeps_owner(t, copies) for t, copies in enumerate(now)) and held:
            self._add("owners not held back", f"{now}")
            return
        for number, name in enumerate(REBALANCE):
            sign = -1 if name in {"copies_on_target", "actives_on_target"} else 1
            least = min(other[number] for other in sums)
            self._compare_bound(f"rebalance {name}", rows[name], mine[number] == least, Fraction(sign * least))
            sums = {other for other in sums if other[number] <= mine[number]}

    def _are_owners_held(self) -> bool:
        owners = self.group.owners
        without = [t for t in range(len(owners)) if not owners[t]]
        return 0 < len(without) < len(owners) and all(
            not self.group.tasks[t].logged or min(self.group.ranks[t]) == 0 for t in without
        )

    def _keeps_owner(self, t: int, copies: Copies) -> bool:
        can_stay = self.group.owners[t] & self.group.leaders(t)
        return not can_stay or copies[0] in can_stay

    def _add_up(self, now: Placement, target: Placement) -> tuple[int, ...]:
        group, space = self.group, self.space
        on_target = off_target = actives = 0
        for t, ((active, standbys), (target_active, target_standbys)) in enumerate(zip(now, target, strict=True)):
            wanted = {target_active, *target_standbys}
            placed = {active, *standbys}
            on_target += len(placed & wanted)
            off_target += sum(group.cost(t, c) for c in placed - wanted)
            actives += active == target_active
        vector = space.sum_up(now)
        families = space.imbalances(vector, space.bounds)
        return -on_target, off_target, -actives, vector[GOALS.index("active_moves")], families[0] + families[1] + families[3]


DISK_UNIT = Fraction(1, 1000)
"""The even spreads to within which a minimum of `disk` is proven."""
DISK_SLACK = Fraction(2, 100)
"""The share by which `disk` may exceed its minimum without a new target."""

REBALANCE = ("copies_on_target", "restore_work_off_target", "actives_on_target", "active_moves", "active_imbalance")
"""The goals of this rebalance, in their order."""


def _order_attempts(found: list[Finding]) -> tuple[bool, int, int]:
    """Return the sort key of the findings under widened bounds: a target within them first, then fewest disagreements."""
    is_outside = any(finding.cause == OUT_OF_BOUNDS for finding in found)
    return is_outside, sum(not finding.is_weakness for finding in found), len(found)


OUT_OF_BOUNDS = "target out of bounds"
"""The cause of a finding about a target outside all bounds that may be in force."""


def check_answer(group: Group, answer: Answer) -> list[Finding]:
    """Return the findings about an answer."""
    return Check(group, answer).run()

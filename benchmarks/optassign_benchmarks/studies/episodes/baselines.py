"""All assignors, the heuristics and Kafka's own classes among them, played to the end on the same snapshots.

Each (snapshot, fate of dropped state, assignor) is a job of its own. Results are kept in build/benchmarks/baselines.jsonl, so
that an interrupted run goes on where it stopped; remove the file to begin anew.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from optassign.assignor import names
from optassign.generate import Shape
from optassign.simulation.convergence import converge
from optassign_benchmarks.grid import Spec
from optassign_benchmarks.tables import Table, make_table

SIZES = ((100, 10, 2), (1_000, 100, 20))
"""Tasks, clients, warm-ups."""
SHAPES: tuple[Shape, ...] = ("cold", "steady", "scale-out", "scale-in", "restart")
STANDBYS = (0, 1, 2)
VARIANTS = ("gap-sticky:previous-tasks",)
"""Played in addition to the assignors' default variants."""
OURS = ("cp-sat", "greedy")
RESULTS = Path("build/benchmarks/baselines.jsonl")
_MOST_REBALANCES = 300


@dataclass(frozen=True)
class Outcome:
    """The result of one assignor on one snapshot, played until the group rests."""

    spec: str
    size: str
    shape: str
    standbys: int
    dropped: str
    assignor: str
    rebalances: int
    settled: bool
    rests: bool
    moves: int
    moved_more_than_once: int
    """Tasks."""
    restored: int
    bound: int | None
    spread: float
    """Active tasks per thread in the last answer, greatest minus least."""
    imbalance: int
    """The imbalance of all shares, in the last answer."""
    violations: dict[str, int]
    answers: int
    seconds: float
    """Median of the seconds of a call; for Kafka's classes without starting the JVM and talking to it."""

    @property
    def key(self) -> tuple[str, str, str]:
        """(snapshot, fate of dropped state, assignor): the job."""
        return self.spec, self.dropped, self.assignor


def specs() -> Iterator[Spec]:
    """Both sizes, every shape of a group that was settled before, 0 to 2 standbys."""
    for tasks, clients, warmups in SIZES:
        for shape in SHAPES:
            for standbys in STANDBYS:
                yield Spec(shape, tasks, clients, standbys, warmups, seed=1)


def assignors() -> list[str]:
    """The assignors of optassign first, then the baselines, Kafka's own classes last."""
    others = sorted({*names(), *VARIANTS} - set(OURS), key=lambda name: (name.startswith("kafka-"), name))
    return [*OURS, *others]


def play(spec: Spec, dropped: str, assignor: str) -> Outcome:
    """Play one job to its end; `dropped` says whether dropped state is `deleted` at once or `kept` on its disk."""
    result = converge(spec.generate(), assignor, max_rebalances=_MOST_REBALANCES, keep_state=dropped == "kept")
    last = result.history[-1]
    return Outcome(
        spec=spec.name,
        size=f"{spec.tasks:,} × {spec.clients:,}",
        shape=spec.shape,
        standbys=spec.standbys,
        dropped=dropped,
        assignor=assignor,
        rebalances=result.rebalances,
        settled=result.settled,
        rests=result.rests,
        moves=result.moved_active,
        moved_more_than_once=result.moved_more_than_once,
        restored=result.restored_offsets,
        bound=result.lower_bound,
        spread=last.measures.spread["active"],
        imbalance=sum(last.measures.imbalance.values()),
        violations=dict(result.violations),
        answers=result.answers,
        seconds=statistics.median(step.seconds for step in result.history),
    )


def run(jobs: int = 2) -> tuple[list[Table], list[str]]:
    """A summary per assignor, and a table per size with every snapshot."""
    found = _read_results()
    wanted = [(spec, dropped, name) for spec in specs() for dropped in ("deleted", "kept") for name in assignors()]
    missing = [job for job in wanted if (job[0].name, job[1], job[2]) not in found]
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    # Spawned: a forked child would share the JVM of its parent.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool, RESULTS.open("a", encoding="utf-8") as file:
        running = {pool.submit(play, *job): job for job in missing}
        for done in as_completed(running):
            spec, dropped, name = running[done]
            try:
                outcome = done.result()
            except Exception as error:  # one job must not end the run
                failed.append(f"{name}, {spec.name}, dropped state {dropped}: {error}")
                continue
            found[outcome.key] = outcome
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
    outcomes = [found[spec.name, dropped, name] for spec, dropped, name in wanted if (spec.name, dropped, name) in found]
    bounds = {o.spec: o.bound for o in outcomes if o.assignor == "cp-sat"}
    parts = [_summary_table(outcomes, bounds)]
    for size in dict.fromkeys(outcome.size for outcome in outcomes):
        parts.append(_snapshot_table([o for o in outcomes if o.size == size], bounds, size))
    return parts, failed


def _read_results() -> dict[tuple[str, str, str], Outcome]:
    if not RESULTS.exists():
        return {}
    rows = [Outcome(**json.loads(line)) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    return {row.key: row for row in rows}


def _summary_table(outcomes: list[Outcome], bounds: dict[str, int | None]) -> Table:
    head = (
        "assignor",
        "tasks × clients",
        "dropped state",
        "settled and at rest",
        "balanced in the end",
        "rebalances, median (most)",
        "active moves, sum",
        "tasks moved more than once, sum",
        "restored ÷ minimum, median (most)",
        "answers that break a rule",
        "seconds a call, median",
    )
    rows: list[tuple[object, ...]] = []
    for name in assignors():
        for size in dict.fromkeys(o.size for o in outcomes):
            for dropped in ("deleted", "kept"):
                some = [o for o in outcomes if (o.assignor, o.size, o.dropped) == (name, size, dropped)]
                if not some:
                    continue
                ratios = [ratio for o in some if (ratio := _ratio(o, bounds)) is not None]
                rebalances = [o.rebalances for o in some]
                rows.append(
                    (
                        name,
                        size,
                        dropped,
                        f"{sum(o.settled and o.rests for o in some)} of {len(some)}",
                        f"{sum(o.imbalance == 0 for o in some)} of {len(some)}",
                        f"{statistics.median(rebalances):.0f} ({max(rebalances)})",
                        sum(o.moves for o in some),
                        sum(o.moved_more_than_once for o in some),
                        f"{statistics.median(ratios):.2f} ({max(ratios):.2f})" if ratios else "–",
                        _describe_violations(some),
                        statistics.median(o.seconds for o in some),
                    )
                )
    return make_table(head, rows)


def _snapshot_table(outcomes: list[Outcome], bounds: dict[str, int | None], size: str) -> Table:
    head = (
        "shape",
        "standbys",
        "assignor",
        "rebalances",
        "moves",
        "tasks moved more than once",
        "restored ÷ minimum",
        "spread",
        "imbalance",
        "rules broken",
        "seconds",
    )
    pairs: dict[tuple[str, int, str], list[Outcome]] = {}
    for outcome in outcomes:
        pairs.setdefault((outcome.shape, outcome.standbys, outcome.assignor), []).append(outcome)
    rows = []
    for key, some in pairs.items():
        rebalances = [f"{o.rebalances}{'' if o.settled else ' (not settled)'}" for o in some]
        ratios = [_format_ratio(o, bounds) for o in some]
        rows.append(
            (
                *key,
                _join_cells(rebalances),
                _join_cells([f"{o.moves:,}" for o in some]),
                _join_cells([f"{o.moved_more_than_once:,}" for o in some]),
                _join_cells(ratios),
                _join_cells([f"{o.spread:.3g}" for o in some]),
                _join_cells([f"{o.imbalance:,}" for o in some]),
                _join_cells([_describe_violations([o]) for o in some]),
                _join_cells([f"{o.seconds:.3f}" for o in some]),
            )
        )
    return make_table(head, rows, size)


def _join_cells(cells: list[str]) -> str:
    """The figures with dropped state deleted and kept; only one where they agree."""
    return cells[0] if len(set(cells)) == 1 else " / ".join(cells)


def _describe_violations(outcomes: list[Outcome]) -> str:
    """Violations by rule, over all answers."""
    total: dict[str, int] = {}
    for outcome in outcomes:
        for rule, number in outcome.violations.items():
            total[rule] = total.get(rule, 0) + number
    return ", ".join(f"{rule} ×{number:,}" for rule, number in sorted(total.items())) or "none"


def _ratio(outcome: Outcome, bounds: dict[str, int | None]) -> float | None:
    """Restored offsets ÷ the minimum that cp-sat's first answer proved; None where that is 0 and something was restored."""
    bound = bounds.get(outcome.spec)
    if not bound:
        return None if bound is None or outcome.restored else 1.0
    return outcome.restored / bound


def _format_ratio(outcome: Outcome, bounds: dict[str, int | None]) -> str:
    ratio = _ratio(outcome, bounds)
    return f"{outcome.restored:,} ÷ 0" if ratio is None else f"{ratio:.2f}"

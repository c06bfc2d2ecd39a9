"""Digests of answers: whether a change of the code alters what is answered, byte for byte but for the seconds.

`python -m optassign.benchmarks.answers` compares today's answers with the digests in benchmarks/answers.txt and names the
snapshots whose answers differ; `--write` renews the file, where a change of the answers is intended. The snapshots: all that
tests/data has, the grid, 2,000 generated ones of all kinds, goals (a) and presets among them; of every tenth the whole
convergence.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from optassign.assignor import assign
from optassign.benchmarks.grid import GRID
from optassign.benchmarks.studies.rules import specs
from optassign.formats.assignment import TaskAssignment
from optassign.formats.reading import read_state
from optassign.formats.state import ApplicationState
from optassign.generate import SHAPES, generate
from optassign.generate.dealing import NotBalancedError
from optassign.goals.order import UNSERVED
from optassign.recordings.recording import read_recording
from optassign.simulation.successors import after_restoration

DIGESTS = Path(__file__).with_name("answers.txt")
DATA = Path("tests/data")
_PER_SHAPE = 324
_TIME_LIMIT = 600.0
"""Seconds; deterministic limits end each search long before."""
_MOST_FOLLOW_UPS = 40
_BASELINES = ("consumer-sticky", "gap-sticky", "goal-chain", "high-availability", "sticky", "weighted-shards")


@dataclass(frozen=True)
class Case:
    """One snapshot by its name; made where it is answered."""

    name: str
    assignors: tuple[str, ...] = ("cp-sat", "greedy")
    to_the_end: bool = False

    def state(self) -> ApplicationState:
        """The snapshot. NotBalancedError where there is no settled group of this kind."""
        source, _, rest = self.name.partition(" ")
        if source == "data":
            path = DATA / rest
            return read_recording(path).snapshot if path.suffix == ".gz" else read_state(str(path))
        if source == "grid":
            return GRID[rest].generate()
        if source == "goals":
            return _with_goals(int(rest))
        shape, number = rest.split()
        return next(spec for spec in specs(shape, int(number) + 1) if spec.seed == int(number)).generate()  # type: ignore[arg-type]


def cases() -> Iterator[Case]:
    """All of them, in order."""
    for path in sorted(path.relative_to(DATA) for path in DATA.rglob("*.json*")):
        yield Case(f"data {path}", ("cp-sat", "greedy", *_BASELINES), to_the_end=True)
    for number, (name, spec) in enumerate(GRID):
        yield Case(f"grid {name}", ("cp-sat", "greedy", *(_BASELINES if number % 4 == 0 and spec.tasks <= 100 else ())))
    for shape in SHAPES:
        for number in range(_PER_SHAPE):
            yield Case(f"generated {shape} {number}", to_the_end=number % 10 == 0)
    for number in range(56):
        yield Case(f"goals {number}", ("cp-sat", "greedy", *_BASELINES))


def _with_goals(number: int) -> ApplicationState:
    """Small snapshots with goals (a), other orders, preset `weighted`, drains, capacities."""
    rng = random.Random(f"goals {number}")
    capacities: tuple[float | tuple[float, float], ...] = (1.0, (0.5, 2.0))
    threads: tuple[int | tuple[int, int], ...] = (1, 2, (1, 3))
    shape = SHAPES[number % len(SHAPES)]
    state = generate(
        shape,
        rng.choice([8, 12, 24, 40]),
        rng.choice([3, 4, 6]),
        rng.choice([0, 1, 1, 2]),
        seed=number,
        weights=rng.choice([0.0, 0.5, 1.0]),
        racks=rng.choice([0, 2, 3]),
        capacity=rng.choice(capacities),
        threads=rng.choice(threads),
        memory=rng.random() < 0.5,
    )
    configs: dict[str, object] = {}
    if rng.random() < 0.5:
        configs["rack_aware_assignment_strategy"] = "min_traffic"
    if rng.random() < 0.5:
        configs["rack_aware_assignment_tags"] = ("zone",)
    options: dict[str, object] = {"balance_factor": rng.choice([1, 1, 1, 2, 3])}
    kind = rng.randrange(5)
    if kind == 0:
        options["preset"] = "weighted"
    elif kind == 1:
        options["goals"] = ("active_moves", "restore_work", "cold_copies")
    elif kind == 2:
        options["goals"] = ("restore_work", "load", "active_moves")
    clients = list(state.clients)
    if rng.random() < 0.3:
        clients[0] = clients[0].model_copy(update={"draining": True})
    return state.model_copy(
        update={
            "clients": tuple(clients),
            "configs": state.configs.model_copy(update=configs),
            "options": state.options.model_copy(update=options),
        }
    )


def digests(case: Case) -> list[str]:
    """A line for each assignor: the snapshot, the assignor, the digest of its answers."""
    try:
        state = case.state()
    except NotBalancedError:
        return [f"{case.name}\tno such group"]
    return [f"{case.name}\t{assignor}\t{_digest(state, assignor, case.to_the_end)}" for assignor in case.assignors]


def _digest(state: ApplicationState, assignor: str, to_the_end: bool) -> str:
    answers = [assign(state, assignor, _TIME_LIMIT)]
    if to_the_end and assignor in {"cp-sat", "greedy"}:
        for _ in range(_MOST_FOLLOW_UPS):
            if all(client.followup_rebalance_ms is None for client in answers[-1].clients):
                break
            state = after_restoration(state, answers[-1])
            answers.append(assign(state, assignor, _TIME_LIMIT))
    return sha256("\n".join(map(_text, answers)).encode()).hexdigest()[:12]


def _text(answer: TaskAssignment) -> str:
    data = answer.without_times().model_dump(mode="json")
    # What an assignor does not serve is said since later than it is not served.
    data["report"]["notes"] = [note for note in data["report"]["notes"] if not note.startswith(UNSERVED)]
    return json.dumps(data, sort_keys=True)


def main() -> int:
    """1 if some answer differs from what the file has."""
    parser = argparse.ArgumentParser(prog="python -m optassign.benchmarks.answers", description=__doc__)
    parser.add_argument("--write", action="store_true", help="renew the digests")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th snapshot")
    arguments = parser.parse_args()
    chosen = list(cases())[:: arguments.every]
    with ProcessPoolExecutor() as pool:
        lines = [line for found in pool.map(digests, chosen, chunksize=8) for line in found]
    if arguments.write:
        DIGESTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return 0
    known = set(DIGESTS.read_text(encoding="utf-8").splitlines())
    different = [line for line in lines if line not in known]
    for line in different:
        print(f"differs: {line.rpartition(chr(9))[0]}")
    print(f"{len(lines) - len(different)} of {len(lines)} as before ({len(chosen)} snapshots)")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())

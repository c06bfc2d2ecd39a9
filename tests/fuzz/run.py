"""`make fuzz`: random input for readers, commands, assignors, service and plug-in, for a number of minutes or cases.

Each case has a seed, to repeat it: `--kind snapshots --seed 17 --cases 1`. Wrong cases are shrunk and written to build/fuzz/;
once fixed, the input becomes a test. The plug-in's cases have their own seeds.
"""

import argparse
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "tests" / room) for room in ("enumeration", "support/fuzzing", "support/processes", "support/solving")]

from case import Case, Kind  # noqa: E402
from kinds import KINDS, can_shrink, dump_case  # noqa: E402
from plugin_kind import run_plugin  # noqa: E402
from service_kinds import Requests, run_schemathesis  # noqa: E402
from serving import run_service  # noqa: E402
from shrinking import shrink  # noqa: E402

FOUND = ROOT / "build" / "fuzz"
_SHARES = {
    "snapshots": 8,
    "answers": 6,
    "recordings": 2,
    "commands": 3,
    "assignors": 10,
    "enumerated": 6,
    "rest": 6,
    "changes": 6,
    "requests": 5,
    "openapi": 3,
    "plugin": 4,
}
"""Kind → its share of the time."""


@dataclass
class Count:
    """Figures of one kind of case."""

    cases: int = 0
    wrong: int = 0
    seconds: float = 0.0


def run_kind(name: str, kind: Kind, seed: int, until: float, most: int) -> Count:
    """Run at most `most` cases, until `until` (time.monotonic()); print and save wrong cases, and return the figures."""
    count, begun = Count(), time.monotonic()
    while count.cases < most and time.monotonic() < until:
        number = seed + count.cases
        case = kind.make(Random(f"{name} {number}"))
        why = _check(kind, case)
        count.cases += 1
        if why is not None:
            count.wrong += 1
            if can_shrink(name, case):
                case = _shrink_case(kind, case, why)
            FOUND.mkdir(parents=True, exist_ok=True)
            (FOUND / f"{name}-{number}.json").write_text(dump_case(case), encoding="utf-8")
            print(f"{name}, seed {number}: {why[:600]}", flush=True)
    count.seconds = time.monotonic() - begun
    return count


def _check(kind: Kind, case: Case) -> str | None:
    try:
        return kind.check(case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _shrink_case(kind: Kind, case: Case, why: str) -> Case:
    """Return a shorter case whose error begins in the same way."""

    def is_wrong(content: bytes) -> bool:
        return (_check(kind, replace(case, content=content)) or "").startswith(why[:12])

    return replace(case, content=shrink(case.content, is_wrong))


def _tell(cases: int, wrong: list[str], begun: float) -> Count:
    """Print errors that another tool has found, and return the figures."""
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return Count(cases, len(wrong), time.monotonic() - begun)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=5.0, help="of all kinds together (default: %(default)s)")
    parser.add_argument("--kind", choices=_SHARES, action="append", help="which (default: all)")
    parser.add_argument("--seed", type=int, default=1, help="of the first case of each kind (default: %(default)s)")
    parser.add_argument("--cases", type=int, default=sys.maxsize, help="at most, of each kind")
    arguments = parser.parse_args()
    chosen = arguments.kind or list(_SHARES)
    counts: dict[str, Count] = {}
    for name in chosen:
        seconds = 60 * arguments.minutes * _SHARES[name] / sum(_SHARES[each] for each in chosen)
        if name in KINDS:
            counts[name] = run_kind(name, KINDS[name], arguments.seed, time.monotonic() + seconds, arguments.cases)
            continue
        if name == "plugin":
            begun = time.monotonic()
            cases, wrong = run_plugin(begun + seconds)
            counts[name] = _tell(cases, wrong, begun)
            continue
        with run_service("--workers", "2", "--max-applications", "64") as service:
            begun = time.monotonic()  # the service's start does not count
            if name == "requests":
                counts[name] = run_kind(name, Requests(service), arguments.seed, begun + seconds, arguments.cases)
            else:
                cases, wrong = run_schemathesis(service, arguments.seed, begun + seconds)
                counts[name] = _tell(cases, wrong, begun)
    print(f"seeds from {arguments.seed}", "", "| kind | cases | wrong | seconds |", "|---|---|---|---|", sep="\n")
    for name, count in counts.items():
        print(f"| `{name}` | {count.cases:,} | {count.wrong:,} | {count.seconds:,.0f} |")
    cases, all_wrong = (sum(getattr(count, name) for count in counts.values()) for name in ("cases", "wrong"))
    print(f"| all | {cases:,} | {all_wrong:,} | {sum(count.seconds for count in counts.values()):,.0f} |")
    return 1 if all_wrong else 0


if __name__ == "__main__":
    sys.exit(main())

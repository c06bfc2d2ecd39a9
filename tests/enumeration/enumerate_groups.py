"""`enumerate_groups.py --cases N --seed S`: compare answers for random tiny groups with all placements.

Each case has a seed of its own, S, S + 1 and so on. A disagreement is one line with its seed, and its snapshot goes to a
folder. The exit code is 1 if an answer disagrees with the rules.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from random import Random

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from answer_checks import Finding, check_answer  # noqa: E402
from group_facts import Snapshot, read_group  # noqa: E402
from random_groups import make_group  # noqa: E402

import optassign  # noqa: E402

FOUND = HERE.parents[1] / "build" / "enumeration"


def make_case(seed: int) -> Snapshot:
    """Return the snapshot of a seed."""
    return make_group(Random(f"group {seed}"))


def check_snapshot(snapshot: Snapshot) -> list[Finding]:
    """Return the findings about the answer of assignor `cp-sat` to a snapshot."""
    state = optassign.ApplicationState.model_validate_json(json.dumps(snapshot))
    answer = json.loads(optassign.assign(state, assignor="cp-sat").model_dump_json())
    return check_answer(read_group(snapshot), answer)


def parse() -> argparse.Namespace:
    """Return the arguments of the command line."""
    shows_defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=shows_defaults)
    parser.add_argument("--cases", type=int, default=100, help="number of groups")
    parser.add_argument("--seed", type=int, default=1, help="of the first group")
    parser.add_argument("--output", type=Path, default=FOUND, help="folder for the snapshots of disagreements")
    parser.add_argument("--weaknesses", action="store_true", help="count optima that an answer does not prove, too")
    parser.add_argument("--snapshot", type=Path, help="check this file alone")
    return parser.parse_args()


def main() -> int:
    """Check all cases and return the exit code."""
    arguments = parse()
    if arguments.snapshot is not None:
        findings = check_snapshot(json.loads(arguments.snapshot.read_text()))
        print(*(f"{'weakness: ' if f.is_weakness else ''}{f.cause}: {f.detail}" for f in findings), sep="\n")
        return int(any(not finding.is_weakness for finding in findings))
    counts: Counter[str] = Counter()
    wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        snapshot = make_case(seed)
        findings = check_snapshot(snapshot)
        if arguments.weaknesses:
            counts.update({f"(weakness) {finding.cause}" for finding in findings if finding.is_weakness})
        causes = {finding.cause: finding.detail for finding in findings if not finding.is_weakness}
        if causes:
            wrong += 1
            counts.update([*causes])
            arguments.output.mkdir(parents=True, exist_ok=True)
            (arguments.output / f"{seed}.json").write_text(json.dumps(snapshot, indent=1) + "\n")
            print(f"seed {seed}:", "; ".join(f"{cause}: {detail}" for cause, detail in causes.items()), flush=True)
    for cause, count in counts.most_common():
        print(f"{count:6} {cause}")
    print(f"{wrong} of {arguments.cases} groups disagree (seeds from {arguments.seed})")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

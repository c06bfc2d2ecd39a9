"""`python -m optassign_benchmarks [STUDY …] [--write] [--quick]`: run studies, and write their results into docs/data."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from optassign_benchmarks.repeated import ChoiceError, RepeatedStudy, RunChoice
from optassign_benchmarks.results import Table, describe_machine, write_study
from optassign_benchmarks.studies import STUDIES

_REPEATED = ("in-time", "workers")
"""Studies with several runs for each row."""


def main() -> int:
    """Run studies and print their tables. Return 1 if a result misses the study's demands, otherwise 0."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"{', '.join(STUDIES)}; all if none is named")
    parser.add_argument(
        "--write", action="store_true", help="write the results into docs/data, from which the site makes its pages"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller snapshots, if the study has a choice")
    repeated = parser.add_argument_group("studies whose rows have several runs, such as in-time")
    repeated.add_argument(
        "--rows",
        action="append",
        default=[],
        metavar="FACTS",
        help="play these rows only: values of their columns, such as 'scale-out, quiet, jar alone, 16'; may be repeated",
    )
    repeated.add_argument("--runs", type=int, metavar="N", help="play until each row has N runs, earlier ones included")
    repeated.add_argument(
        "--folder", type=Path, metavar="FOLDER", help="the folder of all runs, including earlier ones to continue"
    )
    arguments = parser.parse_args()
    for name in arguments.studies:
        if name not in STUDIES:
            parser.error(f"STUDY: found {name!r}; allowed: {', '.join(STUDIES)}")
    names = arguments.studies or list(STUDIES)
    choice = RunChoice(arguments.rows, arguments.runs, arguments.folder)
    if choice.runs is not None and choice.runs < 1:
        parser.error(f"--runs: found {choice.runs}; allowed: 1 or more")
    if choice != RunChoice([]) and (others := [name for name in names if name not in _REPEATED]):
        parser.error(f"--rows, --runs, --folder: found with {others[0]}; allowed with: {', '.join(_REPEATED)}")
    failed = False
    for name in names:
        machine, start = describe_machine(), time.perf_counter()
        tables: list[Table] = []
        wrong: list[str] = []
        for each in _import_records(name):
            try:
                if isinstance(each, RepeatedStudy):
                    of_record = each.run(quick=arguments.quick, choice=choice)
                    if arguments.write and not arguments.quick:
                        each.keep(choice)
                else:
                    of_record = each.run(quick=arguments.quick)
            except ChoiceError as error:
                parser.error(str(error))
            tables += of_record[0]
            wrong += of_record[1]
        command = f"python -m optassign_benchmarks {name}{' --quick' if arguments.quick else ''}"
        text = "\n\n".join([f"`{command}`; {machine}", *(table.to_markdown() for table in tables)])
        if wrong:
            text += "\n\nResults that miss what the study demands:\n\n" + "\n".join(f"- {line}" for line in wrong)
        print(text, flush=True)
        print(f"# {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if arguments.write:
            write_study(name, tables, wrong, command, machine)
        failed |= bool(wrong)
    return int(failed)


def _import_records(name: str) -> tuple[Any, ...]:
    """Return the records of a study."""
    module, _, record = STUDIES[name].partition(":")
    found = getattr(import_module(f"optassign_benchmarks.studies.{module}"), record)
    return found if isinstance(found, tuple) else (found,)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m optassign_benchmarks [STUDY …] [--write] [--quick]`: the figures of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from inspect import signature

from optassign_benchmarks.tables import describe_machine, replace_table

STUDIES = {
    "speed": "answers.speed",
    "second-passes": "answers.second_passes",
    "convergence": "episodes.convergence",
    "rules": "answers.rules",
    "moves": "episodes.moves",
    "time-to-balance": "episodes.time_to_balance",
    "fallback": "episodes.fallback",
    "lost-tasks": "episodes.lost_tasks",
    "load": "answers.load",
    "shards": "answers.shards",
    "weights": "answers.weights",
    "proofs": "answers.proofs",
    "tags": "answers.tags",
    "racks": "answers.racks",
    "histories": "episodes.histories",
    "jvm-planner": "episodes.planner",
    "baselines": "episodes.baselines",
    "own-arrangement": "episodes.own_arrangement",
    "failover": "episodes.failover",
    "beside-kafka": "answers.beside_kafka",
    "plugin-scale-out": "processes.plugin_scale_out",
    "plugin-kill": "processes.plugin_kill",
    "streams-groups": "processes.streams_groups",
    "other-groups": "processes.other_groups",
    "round-trip": "processes.round_trip",
    "service-cost": "processes.service_cost",
    "pages": "processes.pages",
    "spark-overhead": "processes.spark_overhead",
    "replay-throughput": "processes.replay_throughput",
}
"""Study, and mark of its table in docs/benchmarks.md -> module in studies/, whose `run()` returns the table and what is wrong.

A module is imported when its study is run: some need a Kafka client, the service's packages or Spark.
"""


def main() -> int:
    """Run studies and print their tables; 1 if a study found something that is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"{', '.join(STUDIES)}; all if none is named")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller snapshots, where a study has such a choice")
    arguments = parser.parse_args()
    for name in arguments.studies:
        if name not in STUDIES:
            parser.error(f"STUDY: found {name!r}; allowed: {', '.join(STUDIES)}")
    failed = False
    for name in arguments.studies or STUDIES:
        machine, start = describe_machine(), time.perf_counter()
        run = import_module(f"optassign_benchmarks.studies.{STUDIES[name]}").run
        quick = arguments.quick and "quick" in signature(run).parameters
        table, wrong = run(quick=True) if quick else run()
        text = f"`python -m optassign_benchmarks {name}{' --quick' if quick else ''}`; {machine}\n\n{table}"
        if wrong:
            text += "\n\nNot as it should be:\n\n" + "\n".join(f"- {line}" for line in wrong)
        print(text, flush=True)
        print(f"# {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if arguments.write:
            replace_table(name, text)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

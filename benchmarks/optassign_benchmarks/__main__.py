"""`python -m optassign_benchmarks [STUDY …] [--write] [--quick]`: run studies, and write their results into docs/data."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module
from inspect import signature

from optassign_benchmarks.study_data import write_study
from optassign_benchmarks.tables import Table, describe_machine

STUDIES = {
    "speed": "answers.speed:run_speed",
    "convergence": "episodes.convergences:CONVERGENCE",
    "rules": "episodes.convergences:RULES",
    "moves": "episodes.convergences:MOVES",
    "time-to-balance": "episodes.time_to_balance:TIME_TO_BALANCE",
    "fallback": "episodes.time_to_balance:FALLBACK",
    "lost-tasks": "episodes.lost_tasks:LOST_TASKS",
    "uneven-load": "episodes.uneven_load",
    "cold-starts": "episodes.cold_starts:COLD_STARTS",
    "load": "answers.load:LOAD",
    "planner-load": "answers.planner_load:PLANNER_LOAD",
    "shards": "answers.shards:SHARDS",
    "weights": "answers.weights:WEIGHTS",
    "orders": "answers.orders:ORDERS_OF_GOALS",
    "proofs": "answers.speed:PROOFS",
    "tags": "answers.tags:TAGS",
    "racks": "answers.racks:RACKS",
    "jvm-planner": "episodes.planner:JVM_PLANNER",
    "baselines": "episodes.baselines:BASELINES",
    "kafka-warm-ups": "episodes.kafka_warm_ups",
    "own-arrangement": "episodes.arrangements:OWN_ARRANGEMENT",
    "failover": "episodes.arrangements:FAILOVER",
    "beside-kafka": "answers.speed:run_beside_kafka",
    "plugin-scale-out": "processes.plugin:run_scale_out",
    "plugin-kill": "processes.plugin:run_kill",
    "operating": "processes.operating",
    "adopting": "processes.adopting",
    "rolling-restarts": "processes.rolling_restarts",
    "streams-groups": "processes.streams_groups",
    "broker-faults": "processes.broker_faults",
    "group-start": "processes.group_start",
    "pages": "processes.pages",
}
"""Study, and name of its file in docs/data -> module in studies/ and the record, records or function in it; by default `run`.

A module is imported when its study is run: some need a Kafka client, the service's packages or Spark.
"""


def main() -> int:
    """Run studies and print their tables; 1 if a study found something that is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m optassign_benchmarks")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"{', '.join(STUDIES)}; all if none is named")
    parser.add_argument(
        "--write", action="store_true", help="write the results into docs/data, from which the site makes its pages"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and smaller snapshots, where a study has such a choice")
    arguments = parser.parse_args()
    for name in arguments.studies:
        if name not in STUDIES:
            parser.error(f"STUDY: found {name!r}; allowed: {', '.join(STUDIES)}")
    failed = False
    for name in arguments.studies or STUDIES:
        machine, start = describe_machine(), time.perf_counter()
        module, _, record = STUDIES[name].partition(":")
        study = import_module(f"optassign_benchmarks.studies.{module}")
        found = getattr(study, record or "run")
        tables: list[Table] = []
        wrong: list[str] = []
        quick = False
        for each in found if isinstance(found, tuple) else (found,):
            run = each.run if hasattr(each, "run") else each
            quick = arguments.quick and "quick" in signature(run).parameters
            of_record = run(quick=True) if quick else run()
            tables += of_record[0]
            wrong += of_record[1]
        command = f"python -m optassign_benchmarks {name}{' --quick' if quick else ''}"
        text = "\n\n".join([f"`{command}`; {machine}", *(table.to_markdown() for table in tables)])
        if wrong:
            text += "\n\nResults that miss what the study demands:\n\n" + "\n".join(f"- {line}" for line in wrong)
        print(text, flush=True)
        print(f"# {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if arguments.write:
            write_study(name, tables, wrong, command, machine)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

"""`python -m optassign_benchmarks [STUDY …] [--write] [--quick]`: run studies, and write their results into docs/data."""

from __future__ import annotations

import argparse
import sys
import time
from importlib import import_module

from optassign_benchmarks.results import Table, describe_machine, write_study

STUDIES = {
    "speed": "speed:SPEED",
    "convergence": "convergences:CONVERGENCE",
    "rules": "convergences:RULES",
    "moves": "convergences:MOVES",
    "time-to-balance": "time_with_faults:TIME_TO_BALANCE_AND_FAULTS",
    "fallback": "time_to_balance:FALLBACK",
    "lost-tasks": "lost_tasks:LOST_TASKS",
    "uneven-load": "uneven_load:UNEVEN_LOAD",
    "cold-starts": "cold_starts:COLD_STARTS",
    "load": "load:LOAD",
    "planner-load": "load:PLANNER_LOAD",
    "shards": "shards:SHARDS",
    "weights": "weights:WEIGHTS",
    "orders": "orders:ORDERS_OF_GOALS",
    "proofs": "speed:PROOFS",
    "tags": "tags:TAGS",
    "racks": "racks:RACKS",
    "jvm-planner": "convergences:JVM_PLANNER",
    "baselines": "convergences:BASELINES",
    "kafka-warm-ups": "kafka_warm_ups:WARM_UPS",
    "own-arrangement": "arrangements:OWN_ARRANGEMENT",
    "failover": "arrangements:FAILOVER",
    "beside-kafka": "speed:BESIDE_KAFKA",
    "plugin-scale-out": "processes.side_by_side:SCALE_OUT",
    "plugin-kill": "processes.side_by_side:KILL",
    "operating": "processes.operating:OPERATING",
    "adopting": "processes.adopting:ADOPTING",
    "rolling-restarts": "processes.side_by_side:ROLLING_RESTARTS",
    "streams-groups": "processes.streams_groups:STREAMS_GROUPS",
    "broker-faults": "processes.broker_faults:BROKER_FAULTS",
    "group-start": "processes.group_start:GROUP_START",
    "pages": "processes.pages:PAGES",
}
"""Study, and name of its file in docs/data -> module in studies/ and the record, or records, in it.

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
        found = getattr(study, record)
        tables: list[Table] = []
        wrong: list[str] = []
        for each in found if isinstance(found, tuple) else (found,):
            of_record = each.run(quick=arguments.quick)
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


if __name__ == "__main__":
    sys.exit(main())

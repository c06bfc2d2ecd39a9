"""`python -m optassign.benchmarks [NAME …] [--write]`: the figures of docs/benchmarks.md."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from optassign.benchmarks.studies import baselines, beside_kafka, convergence, own_arrangement, rules, second_passes, speed
from optassign.benchmarks.tables import circumstances, put


def _plugin_scale_out() -> tuple[str, list[str]]:
    from optassign.benchmarks.studies import plugin_scale_out  # the only one that needs a Kafka client

    return plugin_scale_out.run()


def _round_trip() -> tuple[str, list[str]]:
    from optassign.benchmarks.studies import round_trip  # the same

    return round_trip.run()


def _service_cost() -> tuple[str, list[str]]:
    from optassign.benchmarks.studies import service_cost  # needs the service's packages

    return service_cost.run()


def _spark_overhead() -> tuple[str, list[str]]:
    from optassign.benchmarks.studies import spark_overhead as overhead  # needs Spark, as the next one does

    return overhead.run()


def _replay_throughput() -> tuple[str, list[str]]:
    from optassign.benchmarks.studies import replay_throughput as throughput

    return throughput.run()


_STUDIES: dict[str, Callable[[], tuple[str, list[str]]]] = {
    "speed": speed.run,
    "second-passes": second_passes.run,
    "convergence": convergence.run,
    "rules": rules.run,
    "baselines": baselines.run,
    "own-arrangement": own_arrangement.run,
    "beside-kafka": beside_kafka.run,
    "plugin-scale-out": _plugin_scale_out,
    "round-trip": _round_trip,
    "service-cost": _service_cost,
    "spark-overhead": _spark_overhead,
    "replay-throughput": _replay_throughput,
}


def main() -> int:
    """Run studies, print their tables; 1 if something was not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m optassign.benchmarks")
    parser.add_argument("studies", nargs="*", choices=[*_STUDIES, []], help="which; all if none is named")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.studies or list(_STUDIES):
        start = time.perf_counter()
        table, bad = _STUDIES[name]()
        lines = [f"- {line}" for line in bad]
        text = "\n".join([f"`python -m optassign.benchmarks {name}`; {circumstances()}", "", table])
        if lines:
            text += "\n\nNot as it should be:\n\n" + "\n".join(lines)
        print(text, flush=True)
        print(f"# {name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if arguments.write:
            put(name, text)
        failed |= bool(bad)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())

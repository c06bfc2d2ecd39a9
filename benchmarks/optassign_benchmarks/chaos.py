"""A real application under load, while instances and the service start, stop and fail at random for a given time.

`python -m optassign_benchmarks.chaos --minutes 30 --seed 1` logs its actions on standard error, and prints a summary as JSON on
standard output. The exit code is 1 if a record was lost or counted twice, a thread died, or the application did not settle. The
seed determines the actions and their order; the machine determines the application's progress at each action.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from optassign_benchmarks.kafka.broker import Broker
from optassign_benchmarks.kafka.faults import FaultyFront, ServiceFault
from optassign_benchmarks.kafka.group import PRELOAD, StreamsApplication
from optassign_benchmarks.kafka.instance import LedRebalance
from optassign_benchmarks.kafka.service import ServiceProcess, check_recordings

_NAMES = ("a", "b", "c", "d")
_LEAST_INSTANCES = 1
TIMEOUT_MS = 1000
"""The time-out of the plug-in."""
_PAUSE_SECONDS = (1.0, 12.0)
"""Least and greatest number of seconds between two actions: from the middle of a rebalance to long after it."""


class Chaos:
    """A source of random actions on an application and its service."""

    def __init__(
        self,
        group: StreamsApplication,
        service: ServiceProcess,
        front: FaultyFront,
        seed: int,
        *,
        spared: Sequence[str] = (),
        ways: Sequence[str] = ("kill", "stop", "pause"),
    ) -> None:
        """Start without faults. spared: instances that are never ended. ways: the kinds of harm to the service."""
        self.history: list[str] = []
        self.counts: Counter[str] = Counter()
        self._group = group
        self._service = service
        self._front = front
        self._spared, self._ways = spared, ways
        self._random = random.Random(seed)
        self._start = time.monotonic()
        self._faulty = False
        self._judged: set[LedRebalance] = set()
        self.answers: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        """Whether the service was harmed or faulty → answering assignor, or reason of the fallback; number of rebalances."""

    def act(self) -> None:
        """Take one of the actions that are possible now."""
        running = sorted(self._group.instances)
        stopped = [name for name in _NAMES if name not in running]
        unspared = [name for name in running if name not in self._spared]
        expendable = unspared if len(running) > _LEAST_INSTANCES else []
        actions: list[tuple[str, list[str], Callable[[str], None], int]] = [
            ("start", stopped, self._group.start, 6),
            ("kill", expendable, self._group.kill, 2),
            ("leave", expendable, self._group.leave, 2),
            ("restart", unspared, self._restart, 2),
            ("rebalance", running, lambda name: self._group.instances[name].rebalance(), 1),
            ("service", [] if self._faulty else list(self._ways), self._hurt_service, 2),
            (
                "fault",
                [] if self._faulty else [each.value for each in ServiceFault if each is not ServiceFault.NONE],
                self._set_fault,
                3,
            ),
            ("heal", ["service"] if self._faulty else [], lambda _: self._heal(), 4),
        ]
        possible = [each for each in actions if each[1]]
        verb, targets, do, _ = self._random.choices(possible, [weight for *_, weight in possible])[0]
        target = self._random.choice(targets)
        self._log(f"{verb} {target}")
        self.counts[verb] += 1
        do(target)

    def pause(self) -> None:
        """Wait for a random time while the application continues."""
        time.sleep(self._random.uniform(*_PAUSE_SECONDS))

    def restore(self) -> None:
        """End all faults of service and answers, and start instances until two are running."""
        self._log("heal service")
        self._heal()
        for name in [name for name in _NAMES if name not in self._group.instances][: 2 - len(self._group.instances)]:
            self._group.start(name)

    def _restart(self, name: str) -> None:
        self._group.stop(name)
        self._group.start(name)

    def judge_answers(self) -> None:
        """Count the rebalances since the last call by their answers. Call it whenever faults begin or end."""
        for each in set(self._group.rebalances) - self._judged:
            self._judged.add(each)
            late = "no answer within" in each.why
            left_alone = "not asked, but again in" in each.why
            why = "late" if late else "left alone after failures" if left_alone else "failed"
            self.answers[self._faulty][f"{each.assignor}: {why}" if each.why else each.assignor] += 1

    def _hurt_service(self, how: str) -> None:
        self.judge_answers()
        self._faulty = True
        getattr(self._service, how)()

    def _set_fault(self, value: str) -> None:
        self.judge_answers()
        self._faulty = True
        self._front.fault = ServiceFault(value)

    def _heal(self) -> None:
        self._front.fault = ServiceFault.NONE
        self._service.resume()
        self._service.start()
        self.judge_answers()  # until it has started again, the service is faulty
        self._faulty = False

    def _log(self, action: str) -> None:
        line = f"{time.monotonic() - self._start:7.1f} s  {action}"
        self.history.append(line)
        print(line, file=sys.stderr, flush=True)


def run(minutes: float, seed: int, rate: float, folder: Path) -> dict[str, object]:
    """Act for `minutes` minutes, let the application settle, and check all results.

    `rate`: records written per second.

    Return the summary; its `problems` are empty if all checks passed.
    """
    problems: list[str] = []
    with ExitStack() as stack:
        broker = stack.enter_context(Broker(folder / "broker"))
        service = stack.enter_context(ServiceProcess(folder / "service"))
        front = stack.enter_context(FaultyFront(service.url, slow_seconds=3 * TIMEOUT_MS / 1000))
        configs = {"optassign_url": front.url, "optassign_timeout_ms": TIMEOUT_MS, "max_warmup_replicas": 4}
        group = stack.enter_context(StreamsApplication(broker, "chaos", folder, **configs))
        group.load.write(PRELOAD)
        group.load.run(rate)
        group.start("a", "b")
        group.await_complete()
        chaos = Chaos(group, service, front, seed)
        end = time.monotonic() + 60 * minutes
        probes: int | None = None
        recordings: int | None = None
        answers: dict[bool, dict[str, int]] = {}
        try:
            while time.monotonic() < end:
                chaos.act()
                chaos.pause()
                group.assert_nothing_died()
                group.load.check()
            chaos.judge_answers()
            answers = {faulty: dict(sorted(counts.items())) for faulty, counts in chaos.answers.items()}
            chaos.restore()
            group.await_complete()
            group.mark()
            probes = group.settle()
            group.await_complete().assert_balanced(standbys=1)
            group.load.await_accounted()
            recordings, faults = check_recordings(service.recordings)
            problems += faults
        except AssertionError as error:
            problems.append(str(error))
        return {
            "seed": seed,
            "minutes": minutes,
            "actions": dict(sorted(chaos.counts.items())),
            "requests_by_fault": {fault.value: number for fault, number in sorted(front.requests.items())},
            "rebalances": group.generation,
            "answered_by": dict(sorted(Counter(each.assignor for each in group.rebalances).items())),
            "answered_by_while_the_service_was_well": answers.get(False, {}),
            "answered_by_while_it_was_not": answers.get(True, {}),
            "recordings_checked": recordings,
            "follow_ups_until_settled": probes,
            "records_written": group.load.written,
            "records_read": group.load.read,
            "records_lost_or_counted_twice": len(group.load.faults),
            "threads_died": len(group.deaths),
            "problems": problems,
            "history": chaos.history,
        }


def main() -> int:
    """Run the command. Return 0 if all checks passed, otherwise 1."""
    parser = argparse.ArgumentParser(
        prog="python -m optassign_benchmarks.chaos", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the actions (%(default)s)")
    parser.add_argument("--rate", type=float, default=300.0, help="records per second into each application (%(default)s)")
    parser.add_argument("--folder", type=Path, help="where logs and recordings stay; default: a new temporary folder")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="optassign-chaos-"))
    print(f"seed {arguments.seed}; logs and recordings in {folder}", file=sys.stderr, flush=True)
    summary = run(arguments.minutes, arguments.seed, arguments.rate, folder)
    print(json.dumps(summary, indent=2))
    return 1 if summary["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())

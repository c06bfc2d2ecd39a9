"""Random starts, stops and failures of a real application's instances and of its service.

The seed determines the actions and their order; the machine determines the application's progress at each action.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence

from optassign_benchmarks.kafka.faults import FaultyFront, ServiceFault
from optassign_benchmarks.kafka.group import StreamsApplication
from optassign_benchmarks.kafka.instance import LedRebalance
from optassign_benchmarks.kafka.service import ServiceProcess

__all__ = ["TIMEOUT_MS", "Chaos"]

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
        spared: Sequence[str],
        ways: Sequence[str],
    ) -> None:
        """Start without faults. `spared`: instances that are never ended. `ways`: methods of `service` that harm it."""
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
        """Service harmed or faulty → counts of rebalances by answering assignor, or by reason of the fallback."""

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

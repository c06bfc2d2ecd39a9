"""How the time until a deadline is shared between the assignor and greedy, which answers where it has no answer."""

from dataclasses import dataclass

__all__ = ["Schedule", "make_schedule"]

_SECONDS, _PER_TASK, _PER_BYTE = 0.05, 5e-5, 3e-8
"""Seconds that greedy takes, reading and writing included: measured from 1,000 tasks × 100 clients to 10,000 × 1,000."""
_SLOWER = 1.5
"""How many times longer it takes on a busy machine."""
_WRITING = 0.3
"""Part of greedy's time that checking and writing an answer of another assignor takes after its time limit."""
_LEAST = 0.02
"""Seconds below which asking the assignor is no use."""
_GRACE = 1.0
"""Seconds in addition to greedy's, from the deadline until there is no answer."""
_OVERDUE, _LONG_OVERDUE = 5.0, 60.0
"""Seconds after that until a worker is killed, and until greedy's is."""


@dataclass(frozen=True)
class Schedule:
    """Points in time by the loop's clock, in this order; `reading` and `cost` are seconds."""

    solved: float
    """The assignor's time limit."""
    fallback: float
    """Greedy is asked, if there is no answer yet."""
    deadline: float
    """An answer is of no use to the plug-in any more, but still sent."""
    give_up: float
    """The request is refused, if there is no answer."""
    reading: float
    """Seconds in which the body has to be read and checked, once a worker has it, where that is after the deadline."""
    cost: float
    """Seconds of work, roughly."""
    kill: float
    """A worker that is still busy with the job is killed: a solver may run on for ever."""
    kill_greedy: float
    """The same for greedy, which ends by itself: it is only slow where the machine is."""

    @property
    def worth_asking(self) -> float:
        """Until when an assignor may begin."""
        return self.solved - _LEAST


def make_schedule(body: bytes, arrived: float, seconds: float) -> Schedule:
    """The schedule of a request. `body`: the snapshot, whose size is estimated at a glance; `seconds`: until its deadline."""
    tasks = body.count(b'"stateful"')
    greedy = _SLOWER * (_SECONDS + _PER_TASK * tasks + _PER_BYTE * len(body))
    deadline = arrived + seconds
    fallback = deadline - greedy
    give_up = deadline + greedy + _GRACE
    return Schedule(
        solved=fallback - _WRITING * greedy,
        fallback=fallback,
        deadline=deadline,
        give_up=give_up,
        reading=greedy + _GRACE,
        cost=greedy,
        kill=give_up + _OVERDUE,
        kill_greedy=give_up + _LONG_OVERDUE,
    )

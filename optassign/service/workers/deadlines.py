"""Share the time until a deadline among waiting, solving and writing the answer."""

from dataclasses import dataclass

__all__ = ["Schedule", "make_schedule"]

_SECONDS, _PER_TASK, _PER_BYTE = 0.05, 5e-5, 3e-8
"""Seconds of greedy inside an assignor, with reading and writing: measured from 1,000 tasks × 100 clients to 10,000 × 1,000."""
_SLOWER = 1.5
"""How many times longer it takes on a busy machine."""
_WRITING = 0.3
"""Part of greedy's time that checking and writing an answer of another assignor takes after its time limit."""
_GRACE = 1.0
"""Seconds in addition to greedy's, from the deadline until the request is refused."""
_OVERDUE = 5.0
"""Seconds after that until a worker is killed."""


@dataclass(frozen=True)
class Schedule:
    """Points in time by the loop's clock, in this order; `reading` and `cost` are seconds."""

    solved: float
    """The assignor's time limit. An assignor with greedy inside, such as cp-sat, answers by it then."""
    latest_start: float
    """A job that begins later has no answer in time, not even greedy's; a worker that is idle takes it all the same."""
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


def make_schedule(body: bytes, arrived: float, seconds: float) -> Schedule:
    """The schedule of a request. `body`: the snapshot, whose size is estimated at a glance; `seconds`: until its deadline."""
    tasks = body.count(b'"stateful"')
    greedy = _SLOWER * (_SECONDS + _PER_TASK * tasks + _PER_BYTE * len(body))
    deadline = arrived + seconds
    latest_start = deadline - greedy
    give_up = deadline + greedy + _GRACE
    return Schedule(
        solved=latest_start - _WRITING * greedy,
        latest_start=latest_start,
        deadline=deadline,
        give_up=give_up,
        reading=greedy + _GRACE,
        cost=greedy,
        kill=give_up + _OVERDUE,
    )

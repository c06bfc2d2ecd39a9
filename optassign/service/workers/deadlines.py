"""Share the time until a deadline among waiting, solving and writing the answer."""

from dataclasses import dataclass

from optassign_models.policy.service import (
    BUSY_FACTOR,
    GRACE_S,
    GREEDY_S,
    GREEDY_S_PER_BYTE,
    GREEDY_S_PER_TASK,
    OVERDUE_S,
    WRITING_SHARE,
)

__all__ = ["Schedule", "make_schedule"]


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
    greedy = BUSY_FACTOR * (GREEDY_S + GREEDY_S_PER_TASK * tasks + GREEDY_S_PER_BYTE * len(body))
    deadline = arrived + seconds
    latest_start = deadline - greedy
    give_up = deadline + greedy + GRACE_S
    return Schedule(
        solved=latest_start - WRITING_SHARE * greedy,
        latest_start=latest_start,
        deadline=deadline,
        give_up=give_up,
        reading=greedy + GRACE_S,
        cost=greedy,
        kill=give_up + OVERDUE_S,
    )

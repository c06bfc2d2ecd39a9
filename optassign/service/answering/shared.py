"""The shared part of answering rebalances and taking reports."""

from dataclasses import dataclass

from optassign.service.answering.memory import Memory
from optassign.service.answering.turns import Turns
from optassign.service.holding.holds import Holds
from optassign.service.metrics import Metrics
from optassign.service.recorder import Recorder
from optassign.service.workers.answer_finder import AnswerFinder

__all__ = ["Shared"]


@dataclass(frozen=True)
class Shared:
    """The parts that the service has one of each."""

    finder: AnswerFinder
    memory: Memory
    turns: Turns
    metrics: Metrics
    recorder: Recorder | None
    """None: nothing is recorded."""
    holds: Holds

"""The `TaskAssignor` protocol of KIP-924, the assignors by name, and `assign`."""

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Protocol, runtime_checkable

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError, validate_task_assignment

__all__ = [
    "BASELINES",
    "NEED_A_JDK",
    "AssignmentError",
    "AssignorError",
    "AssignorFactory",
    "TaskAssignor",
    "assign",
    "create",
    "names",
    "register",
    "variants",
]


@runtime_checkable
class TaskAssignor(Protocol):
    """What assigns tasks (KIP-924 TaskAssignor). `assign` may be called from several threads."""

    def configure(self, configs: AssignmentConfigs) -> None:
        """Take the application's configs; called before `assign`."""

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Answer one rebalance."""
        ...

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Hear what became of an answer: `error` is None or NONE if it was accepted."""


AssignorFactory = Callable[..., TaskAssignor]
"""Makes an assignor; called as `factory(time_limit=seconds)`. A class with that parameter is one."""


class AssignorError(RuntimeError):
    """An assignor gave an answer that Kafka would refuse."""


_lock = Lock()
_factories: dict[str, AssignorFactory | str] = {
    # "module:attribute", imported when first created: `import optassign` must not import a solver.
    "cp-sat": "optassign.assignors.cp_sat:CpSatAssignor",
    "greedy": "optassign.assignors.greedy:GreedyAssignor",
    # What people run today, and what the source documents describe.
    "consumer-sticky": "optassign.assignors.baselines.consumer_sticky:ConsumerStickyAssignor",
    "gap-sticky": "optassign.assignors.baselines.gap_sticky:GapStickyAssignor",
    "goal-chain": "optassign.assignors.baselines.goal_chain:GoalChainAssignor",
    "high-availability": "optassign.assignors.baselines.high_availability:HighAvailabilityAssignor",
    "sticky": "optassign.assignors.baselines.sticky:StickyAssignor",
    "weighted-shards": "optassign.assignors.baselines.weighted_shards:WeightedShardsAssignor",
    # Kafka's own classes, which need a JDK: see optassign/assignors/baselines/kafka.py.
    "kafka-broker-sticky": "optassign.assignors.baselines.kafka:KafkaBrokerSticky",
    "kafka-high-availability": "optassign.assignors.baselines.kafka:KafkaHighAvailability",
    "kafka-sticky": "optassign.assignors.baselines.kafka:KafkaSticky",
}
BASELINES = frozenset(_factories) - {"cp-sat", "greedy"}
"""Heuristics to compare with: they never promised to keep R3 to R8."""
NEED_A_JDK = frozenset({"kafka-broker-sticky", "kafka-high-availability", "kafka-sticky"})
"""Assignors that run Kafka's own classes; `optassign compare` asks them with --kafka."""


def register(name: str, factory: AssignorFactory | str, *, replace: bool = False) -> None:
    """Make an assignor known under `name`; `factory` may be "module:attribute", imported when first needed.

    ValueError if the name is empty, has a colon, or is taken and `replace` is false.
    """
    if ":" in name:
        raise ValueError(f"assignor {name!r}: a colon stands before a variant")
    with _lock:
        if not name or (name in _factories and not replace):
            raise ValueError(f"assignor {name!r} is already registered" if name else "an assignor needs a name")
        _factories[name] = factory


def names() -> tuple[str, ...]:
    """The names of all assignors, sorted."""
    with _lock:
        return tuple(sorted(_factories))


def variants(name: str) -> tuple[str, ...]:
    """The variants that an assignor can be asked for as `name:variant`, its default first; none for most."""
    found: tuple[str, ...] = getattr(_factory(name), "VARIANTS", ())
    return found


def create(name: str, *, time_limit: float = 10.0) -> TaskAssignor:
    """A new assignor. `time_limit`: seconds of solving.

    `name` may be followed by a colon and one of `variants(name)`, which goes to the factory as `variant=`. ValueError, with
    what is allowed, for an unknown name, an unknown variant or a bad limit.
    """
    base, colon, variant = name.partition(":")
    factory = _factory(base)
    if not 0 <= time_limit < float("inf"):
        raise ValueError(f"time limit {time_limit!r}; allowed: seconds, 0 or more and finite")
    if not colon:
        return factory(time_limit=time_limit)
    allowed = variants(base)
    if variant not in allowed:
        raise ValueError(
            f"unknown variant {variant!r} of {base!r}; allowed: {', '.join(allowed) or 'none, it has only one form'}"
        )
    return factory(time_limit=time_limit, variant=variant)


def _factory(name: str) -> AssignorFactory:
    with _lock:
        factory = _factories.get(name)
    if factory is None:
        raise ValueError(f"unknown assignor {name!r}; allowed: {', '.join(names())}")
    if isinstance(factory, str):
        module, _, attribute = factory.partition(":")
        made: AssignorFactory = getattr(import_module(module), attribute)
        return made
    return factory


def assign(state: ApplicationState, assignor: str | TaskAssignor = "cp-sat", time_limit: float = 10.0) -> TaskAssignment:
    """Answer one rebalance with the assignor of that name (or with one you made yourself, which knows its own limit).

    `time_limit`: seconds of solving. ValueError for an unknown name or a bad limit; AssignorError if the answer is one
    that Kafka would refuse, which is a bug of the assignor.
    """
    chosen = create(assignor, time_limit=time_limit) if isinstance(assignor, str) else assignor
    chosen.configure(state.configs)
    answer = chosen.assign(state)
    error = validate_task_assignment(state, answer)
    chosen.on_assignment_computed(state, answer, error)
    if error is not AssignmentError.NONE:
        raise AssignorError(f"assignor {answer.assignor!r} gave an answer that Kafka would refuse: {error.name}")
    return answer

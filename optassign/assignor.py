"""The `TaskAssignor` protocol of KIP-924, the assignors by name, and `assign`."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Protocol, runtime_checkable

from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError, validate_task_assignment

__all__ = [
    "AssignmentError",
    "AssignorError",
    "AssignorFactory",
    "TaskAssignor",
    "Traits",
    "assign",
    "create",
    "names",
    "names_without_jdk",
    "register",
    "traits",
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


@dataclass(frozen=True)
class Traits:
    """What is to be known of an assignor before it is asked."""

    keeps_rules: bool = True
    """It promises R3 to R8: an answer that breaks one is a bug. A baseline never promised more than Kafka demands."""
    optimises: bool = False
    """It looks for the best answer and says how good that is known to be; comparisons show it last."""
    needs_jdk: bool = False
    """It runs Kafka's own classes; `optassign compare` asks it with --kafka."""


@dataclass(frozen=True)
class _Entry:
    factory: AssignorFactory | str
    """"module:attribute" is imported when first created: `import optassign` must not import a solver."""
    traits: Traits


_BASELINE = Traits(keeps_rules=False)
_IN_A_JVM = Traits(keeps_rules=False, needs_jdk=True)
_FOLDER = "optassign.assignors.baselines"
_lock = Lock()
_entries: dict[str, _Entry] = {
    "cp-sat": _Entry("optassign.assignors.cp_sat:CpSatAssignor", Traits(optimises=True)),
    "greedy": _Entry("optassign.assignors.greedy:GreedyAssignor", Traits()),
    # What people run today, and what the source documents describe.
    "consumer-sticky": _Entry(f"{_FOLDER}.consumer_sticky:ConsumerStickyAssignor", _BASELINE),
    "gap-sticky": _Entry(f"{_FOLDER}.gap_sticky:GapStickyAssignor", _BASELINE),
    "goal-chain": _Entry(f"{_FOLDER}.goal_chain:GoalChainAssignor", _BASELINE),
    "high-availability": _Entry(f"{_FOLDER}.high_availability:HighAvailabilityAssignor", _BASELINE),
    "sticky": _Entry(f"{_FOLDER}.sticky:StickyAssignor", _BASELINE),
    "weighted-shards": _Entry(f"{_FOLDER}.weighted_shards:WeightedShardsAssignor", _BASELINE),
    # Kafka's own classes: see optassign/assignors/baselines/kafka.py.
    "kafka-broker-sticky": _Entry(f"{_FOLDER}.kafka:KafkaBrokerSticky", _IN_A_JVM),
    "kafka-high-availability": _Entry(f"{_FOLDER}.kafka:KafkaHighAvailability", _IN_A_JVM),
    "kafka-sticky": _Entry(f"{_FOLDER}.kafka:KafkaSticky", _IN_A_JVM),
}


def register(name: str, factory: AssignorFactory | str, *, replace: bool = False, traits: Traits = Traits()) -> None:
    """Make an assignor known under `name`; `factory` may be "module:attribute", imported when first needed.

    `traits`: what it promises; by default R3 to R8, as our own do.

    ValueError if the name is empty, has a colon, or is taken and `replace` is false.
    """
    if ":" in name:
        raise ValueError(f"assignor {name!r}: a colon stands before a variant")
    with _lock:
        if not name or (name in _entries and not replace):
            raise ValueError(f"assignor {name!r} is already registered" if name else "an assignor needs a name")
        _entries[name] = _Entry(factory, traits)


def names() -> tuple[str, ...]:
    """The names of all assignors, sorted."""
    with _lock:
        return tuple(sorted(_entries))


def names_without_jdk() -> tuple[str, ...]:
    """The names of the assignors that run anywhere: those that optimise last, each group sorted."""
    chosen = [name for name in names() if not traits(name).needs_jdk]
    return tuple(sorted(chosen, key=lambda name: (traits(name).optimises, name)))


def traits(name: str) -> Traits:
    """What is known of an assignor; `name` may be followed by a colon and a variant. ValueError for an unknown name."""
    return _find_entry(name.partition(":")[0]).traits


def variants(name: str) -> tuple[str, ...]:
    """The variants that an assignor can be asked for as `name:variant`, its default first; none for most."""
    found: tuple[str, ...] = getattr(_load_factory(name), "VARIANTS", ())
    return found


def create(name: str, *, time_limit: float = 10.0) -> TaskAssignor:
    """A new assignor. `time_limit`: seconds of solving.

    `name` may be followed by a colon and one of `variants(name)`, which goes to the factory as `variant=`. ValueError, with
    what is allowed, for an unknown name, an unknown variant or a bad limit.
    """
    base, colon, variant = name.partition(":")
    factory = _load_factory(base)
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


def _find_entry(name: str) -> _Entry:
    with _lock:
        entry = _entries.get(name)
    if entry is None:
        raise ValueError(f"unknown assignor {name!r}; allowed: {', '.join(names())}")
    return entry


def _load_factory(name: str) -> AssignorFactory:
    factory = _find_entry(name).factory
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

"""The `TaskAssignor` protocol of KIP-924, the assignors by name, and `assign`.

Assignors are optassign's own, those of `register`, and those of installed packages: entry points of the group
`optassign.assignors`, whose names are the assignors' names.
"""

import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from optassign.errors import ArgumentError, OptassignError
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.utilities import AssignmentError, validate_task_assignment
from optassign_models.policy.constants import TIME_LIMIT

__all__ = [
    "AssignmentError",
    "AssignorError",
    "AssignorFactory",
    "TaskAssignor",
    "Traits",
    "assign",
    "check_snapshot",
    "check_type",
    "create",
    "describe_failure",
    "find_traits",
    "is_own",
    "list_names",
    "list_names_without_jdk",
    "list_variants",
    "load_factory",
    "name_assignor",
    "register",
]


@runtime_checkable
class TaskAssignor(Protocol):
    """A task assignor (KIP-924 TaskAssignor). Several threads may call `assign`."""

    def configure(self, configs: AssignmentConfigs) -> None:
        """Take the application's configs; called before `assign`."""
        return  # without a body, a class that inherits from this one counts as abstract

    def assign(self, state: ApplicationState) -> TaskAssignment:
        """Return the answer to one rebalance."""
        ...

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        """Receive the outcome of an answer: `error` is None or NONE if the answer is accepted."""
        return


AssignorFactory = Callable[..., TaskAssignor]
"""A callable that returns an assignor: `factory(time_limit=seconds)`, or `factory()` if it has no such parameter. A class is a
factory.

Its optional attributes: `TRAITS`, the assignor's promises, and `VARIANTS`, the forms in which it can be requested."""
ENTRY_POINTS = "optassign.assignors"
"""The group of entry points with which an installed package registers its assignors."""


class AssignorError(OptassignError, RuntimeError):
    """An error for an assignor that cannot be loaded, fails, or returns an answer that Kafka would refuse."""


@dataclass(frozen=True)
class Traits:
    """An assignor's properties, known before it answers."""

    keeps_rules: bool = True
    """Whether the assignor promises R3 to R8: an answer that breaks one is a bug. A baseline promises only Kafka's demands."""
    optimises: bool = False
    """Whether the assignor searches for the best answer and reports a bound; comparisons show it last."""
    needs_jdk: bool = False
    """Whether the assignor runs Kafka's own classes; `optassign compare` asks it with --kafka."""


@dataclass(frozen=True)
class _Entry:
    factory: AssignorFactory | str
    """"module:attribute" is imported on first use: `import optassign` must not import a solver."""
    traits: Traits | None
    """None: read the factory's `TRAITS`."""


_BASELINE = Traits(keeps_rules=False)
_IN_A_JVM = Traits(keeps_rules=False, needs_jdk=True)
_FOLDER = "optassign.assignors.baselines"
_PACKAGE = Path(__file__).parent
_PYTHON = Path(traceback.__file__).parent
_log = logging.getLogger(__name__)
_lock = Lock()
_entries: dict[str, _Entry] = {
    "cp-sat": _Entry("optassign.assignors.cp_sat:CpSatAssignor", Traits(optimises=True)),
    "greedy": _Entry("optassign.assignors.greedy:GreedyAssignor", Traits()),
    # Baselines: assignors in use today, and designs from papers and KIPs (docs/reference/assignors.md).
    "consumer-sticky": _Entry(f"{_FOLDER}.consumer_sticky:ConsumerStickyAssignor", _BASELINE),
    "gap-sticky": _Entry(f"{_FOLDER}.gap_sticky:GapStickyAssignor", _BASELINE),
    "goal-chain": _Entry(f"{_FOLDER}.goal_chain:GoalChainAssignor", _BASELINE),
    "high-availability": _Entry(f"{_FOLDER}.high_availability:HighAvailabilityAssignor", _BASELINE),
    "sticky": _Entry(f"{_FOLDER}.sticky:StickyAssignor", _BASELINE),
    "weighted-shards": _Entry(f"{_FOLDER}.weighted_shards:WeightedShardsAssignor", _BASELINE),
    # Kafka's own classes: see optassign/assignors/baselines/kafka.py.
    "kafka-broker-sticky": _Entry(f"{_FOLDER}.kafka:KafkaBrokerSticky", _IN_A_JVM),
    "kafka-broker-sticky-4.4": _Entry(f"{_FOLDER}.kafka:KafkaBrokerSticky44", _IN_A_JVM),
    "kafka-high-availability": _Entry(f"{_FOLDER}.kafka:KafkaHighAvailability", _IN_A_JVM),
    "kafka-sticky": _Entry(f"{_FOLDER}.kafka:KafkaSticky", _IN_A_JVM),
}

_OWN = frozenset(_entries)


def register(name: str, factory: AssignorFactory | str, *, replace: bool = False, traits: Traits | None = None) -> None:
    """Register an assignor under `name`; `factory` may be "module:attribute", imported on first use.

    `traits`: the assignor's promises; by default the factory's `TRAITS`, and without these R3 to R8.

    ValueError if the name is empty, has a colon, or is taken and `replace` is false.
    """
    if ":" in name:
        raise ValueError(f"assignor {name!r}: a colon stands before a variant")
    with _lock:
        if not name or (name in _entries and not replace):
            raise ValueError(f"assignor {name!r} is already registered" if name else "an assignor needs a name")
        _entries[name] = _Entry(factory, traits)


def list_names() -> tuple[str, ...]:
    """Return the names of all assignors, sorted."""
    with _lock:
        return tuple(sorted({**_find_installed(), **_entries}))


def list_names_without_jdk() -> tuple[str, ...]:
    """Return the names of the assignors that need no JDK: optimising ones last, each group sorted."""
    chosen = [name for name in list_names() if not find_traits(name).needs_jdk]
    return tuple(sorted(chosen, key=lambda name: (find_traits(name).optimises, name)))


def name_assignor(assignor: str | TaskAssignor) -> str:
    """Return the assignor's name in reports: as given, its attribute `name`, or its class."""
    return assignor if isinstance(assignor, str) else str(getattr(assignor, "name", type(assignor).__name__))


def find_traits(assignor: str | TaskAssignor) -> Traits:
    """Return an assignor's traits; a name may end with a colon and a variant. ArgumentError for an unknown name."""
    if not isinstance(assignor, str):
        own = getattr(assignor, "TRAITS", None)
        return own if isinstance(own, Traits) else Traits()
    entry = _find_entry(assignor.partition(":")[0])
    if entry.traits is not None:
        return entry.traits
    try:
        traits = getattr(load_factory(entry.factory), "TRAITS", None)
    except AssignorError:  # raised again when the assignor is created
        traits = None
    return traits if isinstance(traits, Traits) else Traits()


def is_own(name: str) -> bool:
    """Return whether `name`, also with a variant, is the name of one of optassign's own assignors."""
    return name.partition(":")[0] in _OWN


def list_variants(name: str) -> tuple[str, ...]:
    """Return the variants of an assignor, requested as `name:variant`, its default first; empty for most assignors."""
    found: Any = getattr(load_factory(_find_entry(name).factory), "VARIANTS", ())
    if isinstance(found, str) or not isinstance(found, Sequence) or not all(isinstance(each, str) for each in found):
        raise AssignorError(f"assignor {name!r}: found VARIANTS = {found!r}; allowed: a sequence of names")
    return tuple(found)


def create(assignor: str | TaskAssignor, *, time_limit: float = TIME_LIMIT) -> TaskAssignor:
    """Return a new assignor of a name, or the given assignor. `time_limit`: seconds of solving, of an assignor given by name.

    A name may end with a colon and one of its `list_variants`, which is passed to the factory as `variant=`.

    Raises:
        TypeError: for neither a name nor an object with the methods of TaskAssignor.
        ArgumentError: for an unknown name, an unknown variant or a bad limit.
        AssignorError: if the assignor cannot be loaded.
    """
    if not isinstance(assignor, str):
        if isinstance(assignor, type) or not _has_protocol(assignor):
            found = f"the class {assignor.__name__}" if isinstance(assignor, type) else type(assignor).__name__
            raise TypeError(f"assignor: found {found}; allowed: a name, or an object with the methods of TaskAssignor")
        return assignor
    base, colon, variant = assignor.partition(":")
    factory = load_factory(_find_entry(base).factory)
    if not 0 <= time_limit < float("inf"):
        raise ArgumentError("time_limit", repr(time_limit), "seconds, 0 or more and finite")
    limit = {"time_limit": time_limit} if _takes_time_limit(factory) else {}
    if not colon:
        return _check_protocol(factory(**limit), base)
    allowed = list_variants(base)
    if variant not in allowed:
        raise ArgumentError("assignor", f"variant {variant!r} of {base!r}", ", ".join(allowed) or "none, it has only one form")
    return _check_protocol(factory(**limit, variant=variant), base)


def _has_protocol(made: object) -> bool:
    return isinstance(made, TaskAssignor)


def _check_protocol(made: TaskAssignor, name: str) -> TaskAssignor:
    """Return the made assignor; AssignorError if it lacks methods of TaskAssignor."""
    if not _has_protocol(made):
        raise AssignorError(f"assignor {name!r} lacks methods of TaskAssignor: found {type(made).__name__}")
    return made


def _find_entry(name: str) -> _Entry:
    with _lock:
        entry = _entries.get(name) or _find_installed().get(name)
    if entry is None:
        raise ArgumentError("assignor", repr(name), ", ".join(list_names()))
    return entry


@cache
def _find_installed() -> dict[str, _Entry]:
    """Return the assignors of installed packages. A registered name takes precedence, with a warning."""
    from importlib.metadata import entry_points  # takes 10 ms, which optassign's own assignors do not need

    found: dict[str, _Entry] = {}
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: (point.name, point.value)):
        if ":" in point.name or (point.name in _entries and _entries[point.name].factory != point.value):
            _log.warning("skipped assignor %r of %s: its name has a colon, or is taken", point.name, point.value)
        else:
            found.setdefault(point.name, _Entry(point.value, None))
    return found


def load_factory(factory: AssignorFactory | str) -> AssignorFactory:
    """Return the factory, imported if it is "module:attribute". AssignorError if the import fails or it is no factory."""
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    try:
        made: Any = import_module(module)
        for name in attribute.split("."):
            made = getattr(made, name)
    except (Exception, SystemExit) as error:  # a module may raise anything while it is imported, or end
        raise AssignorError(f"{factory} cannot be loaded: {describe_failure(error)}") from error
    if not callable(made) or (isinstance(made, type) and not hasattr(made, "assign")):
        raise AssignorError(f"{factory} is no assignor; allowed: a class with the methods of TaskAssignor")
    if needed := _list_needed(made):
        given = "a class or function that needs no arguments but time_limit and variant"
        raise AssignorError(f"{factory} needs {', '.join(needed)}; allowed: {given}")
    loaded: AssignorFactory = made
    return loaded


def _list_needed(factory: AssignorFactory) -> list[str]:
    """Return the names of the parameters without a default, other than time_limit and variant."""
    try:
        parameters = signature(factory).parameters.values()
    except ValueError:  # of a class or function in C
        return []
    of_callers = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is Parameter.empty and each.kind not in of_callers]
    return [name for name in needed if name not in ("time_limit", "variant")]


def _takes_time_limit(factory: AssignorFactory) -> bool:
    made: Any = factory.__init__ if isinstance(factory, type) else factory  # type: ignore[misc]
    if made is object.__init__ or getattr(made, "__module__", "") == "typing":  # a class without __init__, or a Protocol's own
        return False
    parameters = signature(made).parameters
    return "time_limit" in parameters or any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())


def assign(state: ApplicationState, assignor: str | TaskAssignor = "cp-sat", time_limit: float = TIME_LIMIT) -> TaskAssignment:
    """Return an assignor's answer to one rebalance.

    Args:
        state: the snapshot.
        assignor: a name, also with a variant, such as `high-availability`; or an assignor that you made yourself.
        time_limit: seconds of solving, of an assignor given by name.

    Raises:
        TypeError: for a snapshot or an assignor of another type.
        ArgumentError: for an unknown name or a bad limit.
        AssignorError: if the assignor cannot be loaded, returns no TaskAssignment, or returns one that Kafka would refuse.
            Errors that the assignor raises pass through.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> answer = optassign.assign(state)
        >>> answer.report.goals[0].proven
        True
    """
    check_snapshot(state)
    chosen = create(assignor, time_limit=time_limit)
    chosen.configure(state.configs)
    answer = check_type(chosen.assign(state), chosen)
    error = validate_task_assignment(state, answer)
    chosen.on_assignment_computed(state, answer, error)
    if error is not AssignmentError.NONE:
        raise AssignorError(f"assignor {answer.assignor!r} returned an answer that Kafka would refuse: {error.name}")
    return answer


def check_snapshot(state: object) -> None:
    """Raise TypeError unless `state` is a snapshot."""
    if not isinstance(state, ApplicationState):
        found = type(state).__name__
        raise TypeError(f"state: found {found}; allowed: ApplicationState, as read_snapshot and generate return it")


def check_type(answer: object, assignor: TaskAssignor) -> TaskAssignment:
    """Return `answer`; AssignorError, with the assignor's name, if it is not a TaskAssignment."""
    if not isinstance(answer, TaskAssignment):
        name = getattr(assignor, "name", type(assignor).__name__)
        raise AssignorError(f"assignor {name!r} returned no TaskAssignment: found {type(answer).__name__}")
    return answer


def describe_failure(error: BaseException) -> str:
    """Return an exception in one line: type, message, and last line outside of libraries; or an AssignorError's message."""
    text = " ".join(str(error).split())
    if isinstance(error, AssignorError):
        return text
    frames = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    frames = [(file, line) for file, line in frames if file != Path(__file__) and not _is_of_python(file)]
    outside = [(file, line) for file, line in frames if "site-packages" not in file.parts and _PACKAGE not in file.parents]
    own = [(file, line) for file, line in frames if _PACKAGE / "assignors" in file.parents]  # otherwise a caller's line
    where = [f" ({file.name}, line {line})" for file, line in outside or own]
    return f"{type(error).__name__}: {text or 'no message'}{where[-1] if where else ''}"


def _is_of_python(file: Path) -> bool:
    """Return whether the file is of the standard library, or a name such as `<frozen importlib>`."""
    return file.name.startswith("<") or (_PYTHON in file.parents and "site-packages" not in file.parts)

"""The functions of `import optassign` that combine several packages: read, compare, explain, simulate."""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from os import PathLike

from optassign.assignor import TaskAssignor, assign, check_snapshot, create, is_own, list_names_without_jdk, name_assignor
from optassign.errors import ArgumentError
from optassign.formats.assignment import TaskAssignment
from optassign.formats.configs import Weights
from optassign.formats.json_input import Source
from optassign.formats.state import ApplicationState
from optassign.judging import comparison as judged
from optassign.judging.comparison import Comparison, compare_weights
from optassign.judging.convergences import Convergence
from optassign.judging.explain import explain_answer, explain_client, explain_task
from optassign.judging.explanation import ClientExplanation, Explanation, TaskExplanation
from optassign.judging.explanation_text import answer_to_lines, client_to_lines, remark_on_input, task_to_lines
from optassign.measuring.client_names import ClientNames, UnknownClientError
from optassign.recordings.recording import read_rebalance
from optassign.simulation.convergence import converge
from optassign.simulation.timed.scenario import GREATEST_SEED, Scenario, find_scenario
from optassign.simulation.timed.simulator import SimulatedRun
from optassign.simulation.timed.simulator import simulate as play_scenario
from optassign_models.policy.constants import TIME_LIMIT

SHORT_CALL_S = 5.0
"""A call of Kafka's assignor up to this long is repeated in a warm JVM; longer calls warm it by themselves."""
WARM_UP_CALLS = 5
"""Calls that warm the JVM: the compiler has met each loop by then."""
TIMED_CALLS = 3
"""Calls for a median: one may meet the garbage collector."""


def read_snapshot(source: Source) -> ApplicationState:
    """Return the snapshot in the JSON of a snapshot or a recording.

    Args:
        source: a path, `-` for standard input, or the JSON as bytes; each may be compressed by gzip.

    Raises:
        InputError: if the source cannot be read or is invalid; the message has the place, the value found, and allowed values.
        TypeError: for a source of another type.

    Examples:
        >>> import optassign
        >>> text = optassign.generate("steady", tasks=12, clients=3).model_dump_json()
        >>> optassign.read_snapshot(text.encode()).application
        'steady-12x3-seed-0'
    """
    if not isinstance(source, str | bytes | PathLike):
        raise TypeError(f"source: found {type(source).__name__}; allowed: a path, or JSON as bytes")
    return read_rebalance(source)[0]


@dataclass(frozen=True, slots=True)
class ConvergenceSettings:
    """Settings with which `compare` continues after each answer until the group is stable."""

    max_rebalances: int | None = None
    """The limit of rebalances. None: twice the number that warms up, or moves, every copy, plus a few."""
    keep_state: bool = False
    """Whether dropped state stays on disk."""


def _refuse_unknown(assignor: str | TaskAssignor, time_limit: float) -> None:
    """Raise ArgumentError for an unknown name, TypeError for no assignor, or the error of an own assignor.

    `Comparison` reports other failures.
    """
    try:
        create(assignor, time_limit=time_limit)
    except (ArgumentError, SystemExit):
        raise
    except Exception:
        if not isinstance(assignor, str) or is_own(assignor):
            raise


def compare(
    state: ApplicationState,
    assignors: Iterable[str | TaskAssignor] | None = None,
    *,
    time_limit: float = TIME_LIMIT,
    converge: bool | ConvergenceSettings = False,
    weights: Iterable[Weights] = (),
    on_step: Callable[[str], None] | None = None,
    given: Mapping[str, TaskAssignment | None] | None = None,
) -> Comparison:
    """Return the answers of several assignors to one snapshot, side by side with their measures.

    The first column is the previous assignment, as if it were kept. The answers in `given` follow, then a column for each
    assignor that answered, and one for each of `weights`.

    Args:
        assignors: names, or assignors that you made yourself; None: all that need no JDK.
        time_limit: seconds of solving for each answer, of assignors given by name.
        converge: whether to repeat the rebalance under each assignor until the group is stable, or the settings for this.
        weights: each adds a column for cp-sat under preset `weighted`.
        on_step: called before each step with its description.
        given: the answers of a recording, by the names `recorded` and `not_applied`.

    Raises:
        TypeError: for a snapshot or an assignor of another type, or one name in place of a list.
        ArgumentError: for a name that is unknown or comes twice. An assignor that fails has a reason in `failures` instead of a
            column.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> compared = optassign.compare(state, ["cp-sat", "high-availability"])
        >>> [answer.measures.active_moves for answer in compared.columns]
        [0, 1, 7]
    """
    check_snapshot(state)
    if isinstance(assignors, str):
        raise TypeError("assignors: found str; allowed: a list of names or assignors")
    asked_for = tuple(list_names_without_jdk() if assignors is None else assignors)
    names = [name_assignor(each) for each in asked_for]
    repeated = next((name for name, number in Counter(names).items() if number > 1), None)
    if repeated is not None:
        raise ArgumentError("assignors", f"{repeated!r} twice", "each name once")
    chosen = dict(zip(names, asked_for, strict=True))
    for each in chosen.values():
        _refuse_unknown(each, time_limit)
    report_step = on_step or (lambda step: None)
    size = f"{len(state.tasks):,} tasks on {len(state.clients):,} clients"
    play_on = ConvergenceSettings() if converge is True else converge

    def ask(name: str, asked: ApplicationState = state) -> tuple[TaskAssignment, float]:
        report_step(f"asking {name}: {size}")
        assignor = create(chosen.get(name, name), time_limit=time_limit)  # before the clock starts: it loads the solver
        start = time.perf_counter()
        answer = assign(asked, assignor)
        seconds = answer.seconds_elsewhere or time.perf_counter() - start
        return answer, _time_in_warm_jvm(assignor, asked, seconds)

    def play(name: str, asked: ApplicationState = state) -> Convergence:
        assert isinstance(play_on, ConvergenceSettings)
        report_step(f"{name} to the end: {size}")
        return _converge(asked, create(chosen.get(name, name), time_limit=time_limit), play_on)

    compared = judged.compare(
        state,
        list(chosen.values()),
        ask,
        play=play if play_on else None,
        recorded=(given or {}).get("recorded"),
        not_applied=(given or {}).get("not_applied"),
    )
    return compare_weights(compared, state, list(weights), ask, play if play_on else None)


def _converge(state: ApplicationState, assignor: TaskAssignor, how: ConvergenceSettings) -> Convergence:
    return converge(state, assignor, max_rebalances=how.max_rebalances, keep_state=how.keep_state)


def _time_in_warm_jvm(assignor: object, state: ApplicationState, seconds: float) -> float:
    """Return the median seconds of calls in a warm JVM; `seconds` for an assignor without JVM, or from `SHORT_CALL_S` on.

    A first call would include the compilation of Kafka's classes. A long call warms the JVM by itself.
    """
    timed = getattr(assignor, "timed", None)
    if timed is None or seconds >= SHORT_CALL_S:
        return seconds
    calls: list[float] = timed(state, WARM_UP_CALLS, TIMED_CALLS)
    return statistics.median(calls)


@dataclass(frozen=True, slots=True)
class Explained:
    """An explanation as data and as text; `print` shows it."""

    details: Explanation | TaskExplanation | ClientExplanation
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def explain(
    state: ApplicationState, answer: TaskAssignment, *, task: str | None = None, client: str | None = None
) -> Explained:
    """Explain an answer: as a whole, for one task, or for one client.

    Args:
        task: id of a task.
        client: process id, client id, host or tag of a client, or the beginning of one of these.

    Raises:
        TypeError: for a snapshot of another type.
        ArgumentError: for an unknown task or client, or for both at once.

    Examples:
        >>> import optassign
        >>> state = optassign.generate("scale-out", tasks=12, clients=3, seed=1)
        >>> print(optassign.explain(state, optassign.assign(state), task="0_0").lines[0])
        task 0_0 (logged)
    """
    check_snapshot(state)
    names = ClientNames(state)
    if task is not None and client is not None:
        raise ArgumentError("client", "a client and a task", "one of them")
    if task is not None:
        if task not in state.all_tasks:
            raise ArgumentError("task", repr(task), f"a task of the snapshot, such as {', '.join(list(state.all_tasks)[:3])}")
        of_task = explain_task(state, answer, task)
        return Explained(of_task, tuple(task_to_lines(of_task, names.label)))
    if client is not None:
        try:
            process_id = names.find(client)
        except UnknownClientError as error:
            some = error.fits or tuple(map(names.label, state.kafka_streams_states))
            raise ArgumentError("client", repr(client), f"one client of the snapshot, such as {', '.join(some[:3])}") from None
        of_client = explain_client(state, answer, process_id)
        return Explained(of_client, tuple(client_to_lines(of_client, names.label)))
    of_all = explain_answer(state, answer)
    return Explained(of_all, (*answer_to_lines(of_all, names.label), *remark_on_input(state)))


def simulate(
    scenario: Scenario | str | PathLike[str], assignor: str | TaskAssignor = "cp-sat", *, seed: int | None = None
) -> SimulatedRun:
    """Simulate an application over hours under one assignor.

    Args:
        scenario: a scenario, the path of a TOML file, or the name of a scenario of optassign, such as `rolling-restart`.
        seed: replaces the scenario's own seed.

    Raises:
        TypeError: for a scenario or an assignor of another type.
        InputError: for a scenario that cannot be read.
        ArgumentError: for an unknown assignor or a seed out of range.

    Examples:
        >>> import optassign
        >>> run = optassign.simulate("crash", "cp-sat")
        >>> run.measures.rebalances
        4
    """
    scenario = find_scenario(scenario)
    if seed is not None:
        if not 0 <= seed <= GREATEST_SEED:
            raise ArgumentError("seed", str(seed), f"0 to {GREATEST_SEED:,}")
        scenario = scenario.model_copy(update={"seed": seed})
    return play_scenario(scenario, assignor)

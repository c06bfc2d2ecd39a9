"""`optassign serve --demo`: simulates a day of rebalances and records them as if the day had just ended."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

from optassign import __version__
from optassign.assignor import assign, create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.base import parse_time
from optassign.formats.configs import AssignmentConfigs
from optassign.formats.state import ApplicationState
from optassign.recordings.files import make_relative_path
from optassign.recordings.recording import NotApplied, RecordingHead, encode_recording, make_overview, summarise
from optassign.service.clock import format_utc
from optassign.simulation.timed.rebalancing import model_seconds
from optassign.simulation.timed.scenario import read_scenario
from optassign.simulation.timed.simulator import simulate
from optassign.utilities import AssignmentError

__all__ = ["record_day"]

_DEMO_S = 2.0  # seconds of solving for each answer of the demonstration: the day has hundreds of answers

_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
"""The time at which every scenario starts."""


@dataclass(frozen=True)
class _Played:
    name: str
    assignor: str
    shadow: bool
    why: str = ""
    """Why the last answer was not the service's own, as a plug-in reports it; empty if it was."""


_APPLICATIONS = (
    _Played("orders", "cp-sat", False),
    _Played("payments", "cp-sat", False, "http://127.0.0.1:8924/v1/assign no connection: ConnectException, after 3 ms"),
    _Played("clicks", "high-availability", True),
)


class _Keeper:
    """An assignor that records its snapshots and answers."""

    def __init__(self, name: str) -> None:
        self._assignor = create(name, time_limit=_DEMO_S)
        self.kept: list[tuple[ApplicationState, TaskAssignment]] = []

    def configure(self, configs: AssignmentConfigs) -> None:
        self._assignor.configure(configs)

    def assign(self, state: ApplicationState) -> TaskAssignment:
        answer = self._assignor.assign(state)
        self.kept.append((state, answer))
        return answer

    def on_assignment_computed(
        self, state: ApplicationState, assignment: TaskAssignment, error: AssignmentError | None = None
    ) -> None:
        self._assignor.on_assignment_computed(state, assignment, error)


def record_day(folder: Path, now: datetime) -> int:
    """Fill a folder with recordings of the 24 hours before `now`, and return their number. Only the dates differ between
    calls."""
    number = 0
    for played in _APPLICATIONS:
        scenario = read_scenario(str(files("optassign.service") / "demo_scenarios" / f"{played.name}.toml"))
        keeper = _Keeper(played.assignor)
        simulate(scenario, keeper)
        shift = now - timedelta(seconds=scenario.duration_s) - _BEGIN
        for path, content in _encode(played, keeper.kept, shift):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
            number += 1
    return number


def _encode(
    played: _Played, kept: list[tuple[ApplicationState, TaskAssignment]], shift: timedelta
) -> Iterator[tuple[Path, bytes]]:
    """Yield the path below the folder and the content of each recording."""
    for place, (state, answer) in enumerate(kept):
        if state.taken_at is None:
            continue
        state = state.model_copy(update={"taken_at": format_utc((parse_time(state.taken_at) + shift).timestamp())})
        at = parse_time(state.taken_at or "")
        not_applied, not_applied_answer = None, None
        if played.shadow:
            not_applied_answer = assign(state, "cp-sat", _DEMO_S)
            not_applied = NotApplied(
                assignor="cp-sat", time_limit=_DEMO_S, after_the_fact=True, summary=summarise(state, not_applied_answer)
            )
        has_fallen_back = bool(played.why) and place == len(kept) - 1
        head = RecordingHead(
            format=1,
            application=played.name,
            recorded_at=format_utc(at.timestamp()),
            answered_at=round(at.timestamp() * 1000),
            mode="shadow" if played.shadow else "active",
            assignor="fallback" if has_fallen_back else f"kafka-{played.assignor}" if played.shadow else played.assignor,
            time_limit=0.0 if played.shadow else _DEMO_S,
            service=__version__,
            plugin=__version__,
            rebalance=f"{played.name}-{place}",
            reported=played.shadow or has_fallen_back,
            why=played.why if has_fallen_back else "",
            not_applied=not_applied,
            seconds=None if played.shadow else round(model_seconds(len(state.tasks), len(state.clients)), 4),
            summary=summarise(state, answer),
            overview=make_overview(state, answer),
        )
        content = encode_recording(
            head,
            answer.model_dump_json().encode(),
            state.model_dump_json().encode(),
            None if not_applied_answer is None else not_applied_answer.model_dump_json().encode(),
        )
        yield make_relative_path(played.name, at, 0), content

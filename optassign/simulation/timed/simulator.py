"""The simulator: plays a scenario under one assignor, and measures the run."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from optassign.assignor import TaskAssignor, assign, create, name_assignor
from optassign.display import make_frame, make_html
from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
from optassign.measuring.described import list_measures
from optassign.simulation.convergence import ANSWER_S, limit_rebalances, play_until_stable
from optassign.simulation.timed.agenda import Agenda
from optassign.simulation.timed.application import Application, FloatArray
from optassign.simulation.timed.measures import Point, RunMeasures, measure_perceived_imbalance
from optassign.simulation.timed.rebalancing import Rebalancer
from optassign.simulation.timed.scenario import RESTART_S, Scenario, ScenarioEvent
from optassign.simulation.timed.snapshots import RecordedStart, apply_answer, make_snapshot, place_copies

if TYPE_CHECKING:
    from optassign.display import DataFrame

__all__ = ["FIGURES", "SimulatedRun", "digest", "simulate", "summarise"]

_PERIOD_S = 300.0
"""Seconds of one step of the inputs. A day has 288 steps, and an hour's burst takes one of them."""
_SWING = 0.6
"""Swing of the daily curve: from 0.4 to 1.6 times the mean, as in web traffic."""
_BURST = 3.0
"""Factor on the mean in one step of each hour, for one task after the other. It shows whether an assignor chases bursts."""
_PROGRESS_STEPS = 100
"""Number of steps between two reports of progress, since a report takes longer than a step."""


@dataclass(frozen=True)
class SimulatedRun:
    """One run: the measures, and every event and decision in order."""

    scenario: Scenario
    assignor: str
    measures: RunMeasures
    events: list[dict[str, Any]]
    tasks: tuple[str, ...]
    """Task ids, in the order of `measures.holders`."""
    clients: tuple[str, ...]

    def to_frame(self) -> DataFrame:
        """Return the curves of the run as a pandas data frame: a row for each change, at `at` seconds; `Point` names the
        columns.

        Raises:
            MissingPackageError: without pandas.

        Examples:
            >>> import optassign
            >>> bool(optassign.simulate("crash").to_frame()["down"].max() > 0)
            True
        """
        names = tuple(field.name for field in fields(Point))
        return make_frame(({name: getattr(point, name) for name in names} for point in self.measures.curve), names)

    def _repr_html_(self) -> str:
        title = f"{self.scenario.name} under {self.assignor}, seed {self.scenario.seed}"
        rows = [(FIGURES[name].label.strip() or name, value) for name, value in summarise(self).items()]
        return make_html(title, ("figure", "value"), rows)


def simulate(
    scenario: Scenario,
    assignor: str | TaskAssignor,
    on_time: Callable[[float], None] | None = None,
    beginning: RecordedStart | None = None,
) -> SimulatedRun:
    """Play the scenario to its end, and return the run. `on_time`: called at intervals with the simulated seconds so far.

    beginning: the first state, for a scenario from recordings; the group then rebalances at once.
    """
    return _Simulator(scenario, assignor, beginning).run(on_time)


class _Simulator:
    def __init__(self, scenario: Scenario, assignor: str | TaskAssignor, beginning: RecordedStart | None = None) -> None:
        self._scenario, self._beginning = scenario, beginning
        self._name = name_assignor(assignor)
        names = None if beginning is None else [task.id for task in beginning.tasks]
        self._application, self._agenda, self._felt = Application(scenario, names), Agenda(), RunMeasures()
        self._events: list[dict[str, Any]] = []
        self._absences = Counter[int]()
        """Client → number of its absences so far."""
        self._at_start: TaskAssignment | None = None
        chosen = create(assignor, time_limit=ANSWER_S)
        self._rebalancer = Rebalancer(self._application, chosen, self._agenda, self._felt, self._record_event)

    def run(self, on_time: Callable[[float], None] | None) -> SimulatedRun:
        """Run until the scenario's time is over, and return the run."""
        self._start()
        agenda, application, end = self._agenda, self._application, self._scenario.duration_s
        steps = 0
        while agenda.now < end:
            until = min(agenda.next_at, end, agenda.now + application.seconds_to_next_change())
            seconds = until - agenda.now
            if seconds > 0:
                done = application.advance(seconds)
                self._felt.pass_time(seconds, float(application.backlog.sum()))
                agenda.now = until
                self._record_restored(done.tolist())
            if agenda.next_at <= until < end:
                agenda.take()()
                application.change_done()
            self._record_point()
            steps += 1
            if on_time is not None and steps % _PROGRESS_STEPS == 0:
                on_time(agenda.now)
        self._felt.end(end)
        self._felt.restored = application.restored
        ids = tuple(task.id for task in application.tasks)
        return SimulatedRun(self._scenario, self._name, self._felt, self._events, ids, application.client_ids)

    def _start(self) -> None:
        application, scenario = self._application, self._scenario
        application.up[:] = [not kind.joins for kind in application.clients]
        if self._beginning is not None:
            place_copies(application, self._beginning)
            for inputs in self._beginning.inputs:
                self._agenda.plan(inputs.since, partial(self._change_mean_inputs, inputs.per_s))
        self._change_inputs()
        if application.is_noisy:
            self._change_noise()
        if self._beginning is not None:
            self._rebalancer.plan_cleanup_after_start(range(len(application.clients)))
            self._rebalancer.remembered = self._beginning.snapshot.remembered
            self._rebalancer.trigger("recorded")
        elif scenario.start or scenario.warm_start:
            self._at_start = self._find_start()
            apply_answer(application, self._at_start, 0.0, cooperative=False)
            application.sync_all()
        else:
            self._rebalancer.trigger("start")
        for event in scenario.events:
            self._agenda.plan(event.at, partial(self._apply_event, event))
        self._record_point()

    def _find_start(self) -> TaskAssignment:
        """Return the stable assignment at the start, all copies in sync: that of the scenario, or a balanced one.

        cp-sat computes the balanced one for every assignor. With `own_start` the playing assignor converges to it, and the
        rebalancer remembers the last answer.
        """
        if self._scenario.start:
            names = {task.id: name for task, name in zip(self._application.tasks, self._application.names, strict=True)}
            clients = (
                KafkaStreamsAssignment(
                    process_id=given.client,
                    active=tuple(names[task] for task in given.active),
                    standby=tuple(names[task] for task in given.standby),
                )
                for given in self._scenario.start
            )
            return TaskAssignment(assignor="scenario", clients=tuple(clients))
        state = make_snapshot(self._application, None)
        if not self._scenario.own_start:
            return assign(state, "cp-sat", ANSWER_S)
        *_, last = play_until_stable(self._rebalancer.assignor, state, limit=limit_rebalances(state))
        self._rebalancer.remembered = last.answer
        return last.answer

    def _change_inputs(self) -> None:
        """Set the inputs by their profiles, and plan the next change if any profile varies."""
        self._application.factor = _compute_factors(self._application, self._agenda.now)
        if any(group.profile != "constant" for group in self._scenario.subtopologies):
            self._agenda.plan_in(_PERIOD_S, self._change_inputs)

    def _change_mean_inputs(self, per_s: Mapping[str, float]) -> None:
        """Set the mean inputs to the recorded rates; 0 for a task without a rate."""
        self._application.mean_input[:] = [per_s.get(task.id, 0.0) for task in self._application.tasks]

    def _change_noise(self) -> None:
        self._application.change_noise()
        self._agenda.plan_in(self._scenario.faults.noise_s, self._change_noise)

    def _record_point(self) -> None:
        """Add the present state to the measures."""
        application = self._application
        if self._felt.needs_imbalance(application):
            if application.up.any():
                self._felt.imbalances = measure_perceived_imbalance(application, make_snapshot(application, None))
            else:  # without clients there are no shares; each task counts as an imbalance of 1
                tasks = int(application.present.sum())
                self._felt.imbalances = (tasks, tasks, tasks)
        self._felt.look(application, self._agenda.now)

    # ----------------------------------------------------------------------------------------------------------- events

    def _apply_event(self, event: ScenarioEvent) -> None:
        if event.do in ("add-subtopologies", "configure"):
            self._change_application(event)
            return
        clients = self._find_clients(event)
        if event.do == "rolling-restart":
            for number, client in enumerate(clients):
                named = {"do": "restart", "clients": (self._application.client_ids[client],), "zone": None}
                self._agenda.plan_in(number * event.every_s, partial(self._apply_event, event.model_copy(update=named)))
            return
        self._record_event(event.do, clients=self._name_clients(clients))
        if event.do == "join":
            self._join(clients)
            return
        if event.do in ("add-threads", "remove-threads"):
            self._application.threads[clients] += (event.threads or 1) * (1 if event.do == "add-threads" else -1)
            self._rebalancer.trigger(event.do, clients)
            return
        if event.do == "leave" and self._scenario.group.protocol == "learner":
            self._application.draining[clients] = True
            self._rebalancer.trigger("leaving", clients)
            return
        if event.do == "drain":
            self._application.draining[clients] = self._application.leaves_empty[clients] = True
            self._rebalancer.trigger("drain", clients)
            return
        for client in clients:
            self._application.stop(client, self._agenda.now)
            if not event.keeps_disk:
                self._application.wipe(client)
        if event.do == "leave":
            self._rebalancer.trigger("leave")
        else:
            self._application.unnoticed |= set(clients)
            self._absences.update(clients)
            since = {c: self._absences[c] for c in clients}
            self._agenda.plan_in(self._scenario.group.session_timeout_s, partial(self._notice, since))
        down = RESTART_S if event.down_s is None and event.do == "restart" else event.down_s
        if down is not None:
            self._agenda.plan_in(down, partial(self._come_back, clients))

    def _change_application(self, event: ScenarioEvent) -> None:
        """Add subtopologies or change configs, and trigger a rebalance."""
        application = self._application
        changes: dict[str, Any] = {}
        if event.do == "add-subtopologies":
            changes["subtopologies"] = list(event.subtopologies)
            application.present |= [number in event.subtopologies for number in application.subtopology]
        elif event.configs is not None:
            changes["configs"] = event.configs.model_dump(mode="json", exclude_none=True)
            application.configs = application.configs.model_copy(update=event.configs.model_dump(exclude_none=True))
        self._record_event(event.do, **changes)
        self._rebalancer.trigger(event.do)

    def _find_clients(self, event: ScenarioEvent) -> list[int]:
        application, tag = self._application, self._scenario.zone_tag
        if event.zone is None:
            return [application.client_ids.index(name) for name in event.clients]
        inside = [c for c, kind in enumerate(application.clients) if kind.tags.get(tag) == event.zone]
        return [c for c in inside if application.up[c] != (event.do == "join")]

    def _start_clients(self, clients: list[int]) -> None:
        self._application.up[clients] = True
        self._rebalancer.plan_cleanup_after_start(clients)

    def _join(self, clients: list[int]) -> None:
        self._start_clients(clients)
        self._rebalancer.trigger("join", clients)

    def _notice(self, since: Mapping[int, int]) -> None:
        """Trigger a rebalance for clients that are still gone at the session time-out.

        since: client → number of its absence, as it may have returned and gone again.
        """
        missing = {c for c, number in since.items() if c in self._application.unnoticed and self._absences[c] == number}
        self._application.unnoticed -= missing
        if missing:
            self._rebalancer.trigger("session time-out")

    def _come_back(self, clients: list[int]) -> None:
        """Restart the same processes with the state on their disks. Static members continue in their places if their absence
        was not noticed."""
        self._record_event("back", clients=self._name_clients(clients))
        missed = set(clients) - self._application.unnoticed
        self._application.unnoticed -= set(clients)
        applied = self._rebalancer.remembered or self._at_start
        if self._scenario.group.static and not missed and not self._rebalancer.is_rebalancing and applied is not None:
            self._start_clients(clients)
            apply_answer(self._application, applied, self._agenda.now, cooperative=False)
        else:
            self._join(clients)

    # -------------------------------------------------------------------------------------------------------- reporting

    def _name_clients(self, clients: list[int]) -> list[str]:
        return [self._application.client_ids[c] for c in clients]

    def _record_restored(self, copies: list[int]) -> None:
        application, C = self._application, len(self._application.clients)
        self._rebalancer.followups.report_in_sync([(key // C, key % C) for key in copies])
        for key in copies:
            self._felt.last_change_at = self._agenda.now
            self._record_event("restored", task=application.tasks[key // C].id, client=application.client_ids[key % C])

    def _record_event(self, what: str, **more: Any) -> None:
        self._events.append({"at": round(self._agenda.now, 6), "event": what, **more})


FIGURES = {measure.name: measure for measure in list_measures(RunMeasures)}
"""The name of each measure of `RunMeasures` → the measure."""


def summarise(played: SimulatedRun) -> dict[str, float | int | None]:
    """Return figure → value, to three decimals."""
    values = {name: getattr(played.measures, name) for name in FIGURES}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values.items()}


def digest(played: SimulatedRun) -> str:
    """Return a digest of the whole timeline: every event, and every point of the curves to three decimals."""
    curve = [[round(float(value), 3) for value in vars(point).values()] for point in played.measures.curve]
    return sha256(json.dumps([played.events, curve]).encode()).hexdigest()[:16]


_DAY_S = 86_400.0


def _compute_factors(application: Application, now: float) -> FloatArray:
    """Return (T,) the present factor of the mean input of each task."""
    step = math.floor(now / _PERIOD_S)
    daily = 1.0 - _SWING * math.cos(2 * math.pi * (step * _PERIOD_S % _DAY_S) / _DAY_S)
    by_profile = {"constant": 1.0, "daily": daily}
    return np.array(
        [
            by_profile.get(task.group.profile, _BURST if (step + t) % round(3600 / _PERIOD_S) == 0 else 1.0)
            for t, task in enumerate(application.tasks)
        ]
    )

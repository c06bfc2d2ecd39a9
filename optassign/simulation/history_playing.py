"""The player of histories: each change in turn until the group is stable, with its grades."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from optassign.assignor import TaskAssignor, create
from optassign.formats.assignment import TaskAssignment
from optassign.formats.clients import KafkaStreamsState
from optassign.formats.state import ApplicationState
from optassign.simulation.convergence import (
    ANSWER_S,
    PlayedStep,
    is_unaltered,
    limit_rebalances,
    play_rebalance,
    play_until_stable,
)
from optassign.simulation.history import SUITES, Change, History, begin, bring_back, draw_history, make_change
from optassign.simulation.history_grades import (
    COLUMNS,
    TAGS,
    Grades,
    Pairs,
    add_up,
    count_tag,
    grade_balance,
    grade_lost_zone,
    list_actives,
    list_copies,
    measure_moving,
)
from optassign.simulation.successors import Growth

__all__ = ["Graded", "count_histories", "play_history", "play_suite"]


_Rest = tuple[ApplicationState, TaskAssignment]


def play_history(history: History, assignor: str | TaskAssignor = "cp-sat", *, time_limit: float = ANSWER_S) -> Grades:
    """Play a history under an assignor, and return its grades. A second run without tags gives the tag-blind grades.

    time_limit: seconds of solving for each answer; only for an assignor given by name. An answer that breaks R1, R2 or the
    format ends the history, and the remaining changes count as unsettled.
    """
    player = _Player(history, assignor, time_limit)
    player.play()
    tagged = {n: rest for n, rest in player.rests.items() if rest[0].configs.rack_aware_assignment_tags}
    if any(count_tag(*rest, tag)[1] for rest in tagged.values() for tag in rest[0].configs.rack_aware_assignment_tags):
        blind = _Player(history, assignor, time_limit, is_blind=True)
        blind.play()
        both = tagged.keys() & blind.rests.keys()
        _grade_tags(player.grades, {n: tagged[n] for n in both}, {n: blind.rests[n] for n in both})
    return player.grades


def _grade_tags(grades: Grades, rests: dict[int, _Rest], blind: dict[int, _Rest]) -> None:
    """Add the reached values of each tag. `blind`: rests after the same changes without tags; empty if not played."""
    for number, rest in rests.items():
        for tag in set(rest[0].configs.rack_aware_assignment_tags).intersection(TAGS):
            reached, reachable = count_tag(*rest, tag)
            without = count_tag(*blind[number], tag)[0] if number in blind else 0
            for name, value in (("reached", reached), ("reachable", reachable), ("blind", without)):
                setattr(grades, f"{tag}_{name}", getattr(grades, f"{tag}_{name}") + value)


class _Player:
    """A run of a history under one assignor. `rests`: number of the change → snapshot and answer of the last rebalance."""

    def __init__(self, history: History, assignor: str | TaskAssignor, time_limit: float, *, is_blind: bool = False) -> None:
        self._history, self._is_blind = history, is_blind
        self._assignor = create(assignor, time_limit=time_limit)
        self.grades = Grades(changes=len(history.changes))
        self.rests: dict[int, _Rest] = {}

    def play(self) -> None:
        """Play the start, then every change."""
        grades = self.grades
        state = self._play_until_rest(self._without_tags(begin(self._history)), 0)
        for number, change in enumerate(self._history.changes, start=1):
            if state is None:
                grades.unsettled += len(self._history.changes) - number + 1
                return
            state = self._play_change(state, change, number)

    def _play_change(self, before: ApplicationState, change: Change, number: int) -> ApplicationState | None:
        """Play a change, and return the snapshot after it; None after an answer without a successor."""
        copies = _list_remembered(before)
        if change.do == "zone leaves":
            grade_lost_zone(self.grades, before, copies, set(change.clients))
        state: ApplicationState | None = self._without_tags(make_change(before, change))
        if change.do == "process restarted":
            state = self._play_restart(before, change, number)
        if state is None:
            return None
        there = {client.process_id for client in state.clients}
        if change.rebalances is not None:
            return self._play_rebalances(state, number, change.rebalances)
        after = self._play_until_rest(state, number)
        if after is not None and number in self.rests:
            self._grade_rest(self.rests[number], {pair for pair in copies if pair[1] in there})
            if change.do == "process restarted":
                self._grade_reuse(before.kafka_streams_states[change.clients[0]], number, copies)
        return after

    def _play_restart(self, before: ApplicationState, change: Change, number: int) -> ApplicationState | None:
        """Play the rebalances without the restarting process, and return the snapshot with it; None after an answer without a
        successor."""
        state: ApplicationState | None = make_change(before, change)
        if change.away and len(before.clients) > 1:
            assert state is not None
            state = self._play_rebalances(state, number, change.away)
        client = before.kafka_streams_states[change.clients[0]]
        seed = f"{self._history.suite}/{self._history.seed}/{number}"
        return None if state is None else bring_back(state, client, change, seed)

    def _play_rebalances(self, state: ApplicationState, number: int, rebalances: int) -> ApplicationState | None:
        """Play at most `rebalances` rebalances, or until the group asks for no follow-up; return the next snapshot or None."""
        steps = list(self._rebalance(state, number, rebalances))
        self._grade_steps(state, steps)
        return steps[-1].following

    def _play_until_rest(self, state: ApplicationState, number: int) -> ApplicationState | None:
        grades = self.grades
        steps = list(self._rebalance(state, number, limit_rebalances(state)))
        last = steps[-1]
        if number:
            self._grade_steps(state, steps)
        else:
            self._grade_answers(steps)
        if last.following is None:
            grades.unsettled += 1
            return None
        settled = not last.played.followup and not last.played.stalled
        if not last.played.followup:
            again, look = play_rebalance(self._assignor, last.following, frozenset())
            grades.answers += 1
            grades.violations.update(look.measures.violations)
            settled = settled and is_unaltered(last.answer, again) and not look.followup
            self.rests[number] = (last.state, last.answer)
        grades.unsettled += not settled
        return last.following

    def _rebalance(self, state: ApplicationState, number: int, limit: int) -> Iterable[PlayedStep]:
        history = self._history
        growth = Growth(state, history.growth, 1_000 * history.seed + number) if history.growth else None
        kept, rebalancing = history.keep_state, history.rebalancing
        return play_until_stable(self._assignor, state, limit=limit, keep_state=kept, growth=growth, rebalancing=rebalancing)

    def _grade_answers(self, steps: Iterable[PlayedStep]) -> None:
        for step in steps:
            self.grades.answers += 1
            self.grades.violations.update(step.played.measures.violations)

    def _grade_steps(self, state: ApplicationState, steps: list[PlayedStep]) -> None:
        """Add the results of the rebalances after a change. `state`: the snapshot before them."""
        grades = self.grades
        self._grade_answers(steps)
        is_second = [not before.is_last_pass for before in steps[:-1]]
        grades.second_passes += sum(is_second)
        grades.rounds += len(steps) - sum(is_second)
        for step in steps:
            measures = step.played.measures
            grades.moves += measures.active_moves
            grades.altered_passes += step.is_altered
            if not step.is_last_pass:
                continue  # copies are restored after the last pass only
            grades.copies_not_caught_up += measures.copies_not_caught_up
            grades.actives_not_caught_up += measures.actives_not_caught_up
            grades.restored += step.played.restored_offsets
        there = {client.process_id for client in state.clients}
        actives = [list_actives(state), *(frozenset(_list_actives(step.answer)) for step in steps)]
        before = frozenset(pair for pair in _list_remembered(state, warmups=True) if pair[1] in there)
        copies = [before, *(list_copies(step.answer, warmups=True) for step in steps)]
        made, undone = measure_moving(actives)
        copies_made, copies_undone = measure_moving(copies)
        grades.made, grades.undone = grades.made + made, grades.undone + undone
        grades.copies_made, grades.copies_undone = grades.copies_made + copies_made, grades.copies_undone + copies_undone

    def _grade_rest(self, rest: _Rest, before: set[tuple[str, str]]) -> None:
        state, answer = rest
        self.grades.rests += 1
        grade_balance(self.grades, state, answer)
        copies = list_copies(answer)
        self.grades.keepable += len(before)
        self.grades.kept += len(before & copies)

    def _grade_reuse(self, client: KafkaStreamsState, number: int, before: Pairs) -> None:
        """Add the copies of logged tasks that a restarted process had, and those of them that it has again."""
        state, answer = self.rests[number]
        logged = {task.id for task in state.tasks if task.logged}
        had = {pair for pair in before if pair[1] == client.process_id and pair[0] in logged and pair[0] in client.lags}
        self.grades.reusable += len(had)
        self.grades.reused += len(had & list_copies(answer))

    def _without_tags(self, state: ApplicationState) -> ApplicationState:
        if not self._is_blind or not state.configs.rack_aware_assignment_tags:
            return state
        return state.model_copy(update={"configs": state.configs.model_copy(update={"rack_aware_assignment_tags": ()})})


def _list_remembered(state: ApplicationState, *, warmups: bool = False) -> Pairs:
    return frozenset() if state.remembered is None else list_copies(state.remembered, warmups=warmups)


def _list_actives(answer: TaskAssignment) -> Iterable[tuple[str, str]]:
    return ((task, client.process_id) for client in answer.clients for task in client.active)


@dataclass
class Graded:
    """The grades of one assignor in a suite."""

    assignor: str
    by_seed: dict[int, Grades] = field(default_factory=dict)

    @property
    def total(self) -> Grades:
        """Return the sum over all histories."""
        return add_up(self.by_seed.values())

    @property
    def wrong(self) -> list[int]:
        """Return the seeds of the histories in which a rule was broken or the group did not become stable."""
        return [seed for seed, grades in self.by_seed.items() if grades.violations or grades.unsettled]

    def as_json(self) -> dict[str, Any]:
        """Return the columns by name, and the sums behind them; numbers to the millionth."""
        total = self.total
        values = {column.key: column.compute(total) for column in COLUMNS}
        return {
            **{key: None if value is None else round(value, 6) for key, value in values.items()},
            "wrong": self.wrong,
            "sums": total.as_json(),
        }


def count_histories(suite: str) -> int:
    """Return the default number of histories of a suite. KeyError for an unknown suite."""
    return SUITES[suite].histories


def play_suite(suite: str, seed: int, count: int, assignor: str, tell: Callable[[int], None] | None = None) -> Graded:
    """Play the histories with `count` seeds from `seed` on. `tell`: called with the number of finished histories."""
    graded = Graded(assignor)
    for number, drawn_seed in enumerate(range(seed, seed + count), start=1):
        graded.by_seed[drawn_seed] = play_history(draw_history(suite, drawn_seed), assignor)
        if tell is not None:
            tell(number)
    return graded

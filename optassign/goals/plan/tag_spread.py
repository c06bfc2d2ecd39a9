"""Goal (a), `tag_spread`: distinct tag values (zones, clusters) among the copies of each logged task (KIP-708)."""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.measuring.facts import Facts
from optassign.measuring.placement import Placement, standbys_per_task


def count_tag_values(state: ApplicationState, placement: Placement) -> tuple[int, int]:
    """(reached, reachable) numbers of distinct tag values among a task's copies, over logged tasks and tags (KIP-708).

    Reachable for one task and tag: the number of copies, or of values that the clients have, if that is less.
    """
    reached = reachable = 0
    logged = [task.id for task in state.tasks if task.logged]
    for tag in state.configs.rack_aware_assignment_tags:
        values = {client.process_id: client.tags[tag] for client in state.clients if tag in client.tags}
        reachable += len(logged) * min(standbys_per_task(state) + 1, len(set(values.values())))
        reached += sum(len({values[c] for c in placement.copies(task) if c in values}) for task in logged)
    return reached, reachable


def _measure(facts: Facts) -> int:
    return count_tag_values(facts.state, facts.plan)[0]


def _joins(state: ApplicationState) -> bool:
    return bool(state.configs.rack_aware_assignment_tags and state.configs.num_standby_replicas)


def _find_data(state: ApplicationState) -> object | None:
    import numpy as np  # what measures the goal needs no arrays

    from optassign.models.goals.tag_spread import Tags

    def number(values: list[str | None]) -> list[int]:
        place = {value: n for n, value in enumerate(sorted({value for value in values if value is not None}))}
        return [-1 if value is None else place[value] for value in values]

    tags = state.configs.rack_aware_assignment_tags
    return Tags(tuple(np.array(number([c.tags.get(tag) for c in state.clients]), dtype=np.int64) for tag in tags))


def _why_unserved(state: ApplicationState) -> str | None:
    return None if state.configs.rack_aware_assignment_tags else "no rack_aware_assignment_tags are configured"


def _bound_in_units(bound: Value) -> Value:
    return -int(bound)  # the model minimises the negative


GOAL = Goal(
    name="tag_spread",
    place=20,
    unit="distinct values, over logged tasks and tags",
    measure=_measure,
    more_is_better=True,
    joins=_joins,
    find_data=_find_data,
    why_unserved=_why_unserved,
    bound_in_units=_bound_in_units,
)

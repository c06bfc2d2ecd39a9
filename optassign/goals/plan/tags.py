"""Goal (a), `tag_spread`: distinct tag values (zones, clusters) among the copies of each logged task (KIP-708)."""

from optassign.formats.state import ApplicationState
from optassign.goals.goal import Goal, Value
from optassign.measuring.facts import Facts
from optassign.measuring.placement import standbys_per_task
from optassign.measuring.spread import count_tag_values, count_values_of_tags


def _find_data(state: ApplicationState) -> object | None:
    import numpy as np  # only the model's data needs arrays

    def number(values: list[str | None]) -> list[int]:
        place = {value: n for n, value in enumerate(sorted({value for value in values if value is not None}))}
        return [-1 if value is None else place[value] for value in values]

    tags = state.configs.rack_aware_assignment_tags
    return tuple(np.array(number([c.tags.get(tag) for c in state.clients]), dtype=np.int64) for tag in tags)


def _bound_in_units(bound: Value, facts: Facts) -> Value:
    """Return a bound of the sum over all tags, from the model's number with a digit for each tag.

    A tag's digit is a bound only if all earlier tags reach their digits; later tags are bounded by the reachable values.
    """
    from optassign_models.goals.tags import weigh_tags

    found = count_values_of_tags(facts.state, facts.plan)
    copies = sum(task.logged for task in facts.state.tasks) * (standbys_per_task(facts.state) + 1)
    weights, left, total = weigh_tags(copies, len(found)), -int(bound), 0
    for place, (reached, _) in enumerate(found):
        reachable = [most for _, most in found[place:]]
        digit, left = divmod(left, weights[place])
        if weights[place] == 1:  # the last tag, or all tags of equal weight
            return total + min(digit, sum(reachable))
        total += digit
        if digit != reached:
            return total + sum(reachable[1:])
    return total


TAG_SPREAD = Goal(
    name="tag_spread",
    place=20,
    unit="distinct values, over logged tasks and tags",
    measure=lambda facts: count_tag_values(facts.state, facts.plan)[0],
    more_is_better=True,
    joins=lambda state: bool(state.configs.rack_aware_assignment_tags and state.configs.num_standby_replicas),
    find_data=_find_data,
    why_unserved=lambda state: (
        None if state.configs.rack_aware_assignment_tags else "no rack_aware_assignment_tags are configured"
    ),
    bound_in_units=_bound_in_units,
)
GOALS = (TAG_SPREAD,)

"""Tiny groups with all kinds of options, whose answers agree with an enumeration of all placements."""

import json
from random import Random

from answer_checks import check_answer
from case import Case
from group_facts import read_group
from random_groups import make_group

from optassign import assign
from optassign.formats.state import ApplicationState


class Enumerated:
    """Tiny groups: cp-sat's answer is one of the best that the rules allow."""

    def make(self, random: Random) -> Case:
        """Return the snapshot of a random tiny group."""
        return Case(json.dumps(make_group(random)).encode())

    def check(self, case: Case) -> str | None:
        """Return the faults of the answer, or None."""
        group = read_group(json.loads(case.content))
        if group.has_equal_ranks_of_unequal_cost:  # a shortened case, which the rules leave open
            return None
        answer = json.loads(assign(ApplicationState.model_validate_json(case.content)).model_dump_json())
        faults = [f"{found.cause}: {found.detail}" for found in check_answer(group, answer) if not found.is_weakness]
        return "; ".join(faults) or None

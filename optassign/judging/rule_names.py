"""The names of the rules of docs/reference/rules.md, as texts for people carry them next to their numbers."""

__all__ = ["RULE_NAMES", "name_rule"]

RULE_NAMES = {
    "R1": "one active for every task",
    "R2": "one copy on a client",
    "R3": "active on the most caught-up",
    "R4": "number of standbys",
    "R5": "standbys on the next most caught-up",
    "R6": "number of warm-ups",
    "R7": "no change without a reason",
    "R8": "follow-up",
}


def name_rule(rule: str) -> str:
    """A rule with its name: `R3 (active on the most caught-up)`; what has no name, such as `format`, as it is."""
    return f"{rule} ({RULE_NAMES[rule]})" if rule in RULE_NAMES else rule

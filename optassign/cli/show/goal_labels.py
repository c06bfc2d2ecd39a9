"""What tables call goals and stages; JSON and options have their short names."""

__all__ = ["label_goal", "label_stage"]

_GOALS = {
    "cold_copies": "copies not caught up",
    "cold_actives": "actives not caught up",
    "pauses": "active task migrations",
    "standby_moves": "standby migrations",
    "planned_copies": "copies on target",
    "off_plan_restore_work": "restore work off target",
    "planned_actives": "actives on target",
    "active_moves": "active task migrations",
    "active_imbalance": "imbalance of actives",
}
_STAGES = {"plan": "target"}


def label_goal(name: str) -> str:
    """A goal in words: `copies not caught up` for `cold_copies`; without its underscores where it has no other words."""
    return _GOALS.get(name, name.replace("_", " "))


def label_stage(name: str) -> str:
    """A stage in words: `target` for `plan`."""
    return _STAGES.get(name, name)

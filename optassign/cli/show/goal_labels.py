"""The tables' names of goals and stages; JSON and options have their short names."""

__all__ = ["label_goal", "label_stage"]

_GOALS = {
    "copies_not_caught_up": "copies not caught up",
    "actives_not_caught_up": "actives not caught up",
    "active_migrations": "active task migrations",
    "standby_migrations": "standby migrations",
    "copies_on_target": "copies on target",
    "restore_work_off_target": "restore work off target",
    "actives_on_target": "actives on target",
    "active_moves": "active task migrations",
    "active_imbalance": "imbalance of actives",
}
_STAGES = {"plan": "target"}


def label_goal(name: str) -> str:
    """A goal in words: `copies not caught up` for `copies_not_caught_up`; without its underscores where it has no other
    words."""
    return _GOALS.get(name, name.replace("_", " "))


def label_stage(name: str) -> str:
    """A stage in words: `target` for `plan`."""
    return _STAGES.get(name, name)

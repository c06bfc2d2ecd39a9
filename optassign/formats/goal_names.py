"""The names of the goals that a snapshot's options may put in order: those of the files in optassign/goals/plan/.

Only names are taken from there: the goals themselves are made of these formats, so nothing of them is imported here.
"""

from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Literal

_FOLDER = Path(__file__).parent.parent / "goals" / "plan"
GOAL_NAMES = tuple(sorted(found.name for found in iter_modules([str(_FOLDER)])))

if TYPE_CHECKING:
    GoalName = str
else:  # pydantic checks the names, and the schema lists them
    GoalName = Literal[GOAL_NAMES]

"""Kafka Streams task assignment as an optimisation problem.

    import optassign
    state = optassign.ApplicationState.model_validate_json(text)
    answer = optassign.assign(state)
    answer.model_dump_json()

Names are imported when first used: `import optassign` costs nothing, and no solver is loaded before one is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optassign.analysis.export import export_model
    from optassign.assignor import TaskAssignor, assign
    from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
    from optassign.formats.state import ApplicationState, AssignmentConfigs, KafkaStreamsState, TaskInfo

    __version__: str

__all__ = [
    "ApplicationState",
    "AssignmentConfigs",
    "KafkaStreamsAssignment",
    "KafkaStreamsState",
    "TaskAssignment",
    "TaskAssignor",
    "TaskInfo",
    "__version__",
    "assign",
    "export_model",
]

_WHERE = {
    "ApplicationState": "optassign.formats.state",
    "AssignmentConfigs": "optassign.formats.state",
    "KafkaStreamsAssignment": "optassign.formats.assignment",
    "KafkaStreamsState": "optassign.formats.state",
    "TaskAssignment": "optassign.formats.assignment",
    "TaskAssignor": "optassign.assignor",
    "TaskInfo": "optassign.formats.state",
    "assign": "optassign.assignor",
    "export_model": "optassign.analysis.export",
}


def __getattr__(name: str) -> object:
    if name in _WHERE:
        value = getattr(import_module(_WHERE[name]), name)
    elif name == "__version__":
        value = _version()
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("optassign")
    except PackageNotFoundError:  # a checkout that is not installed
        return "0+unknown"

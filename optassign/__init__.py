"""Kafka Streams task assignment as an optimisation problem.

    import optassign
    state = optassign.read_snapshot("snapshot.json")
    answer = optassign.assign(state)
    answer.model_dump_json()

Names are imported when first used: `import optassign` costs nothing, and no solver is loaded before it is needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optassign.analysis.export import ExportedModel, ExportError, export_model
    from optassign.assignor import AssignorError, TaskAssignor, assign
    from optassign.errors import ArgumentError, MissingPackageError, OptassignError
    from optassign.formats.assignment import KafkaStreamsAssignment, TaskAssignment
    from optassign.formats.input_errors import InputError
    from optassign.formats.state import ApplicationState, AssignmentConfigs, KafkaStreamsState, Options, TaskInfo, Weights
    from optassign.generating.dealing import NotBalancedError
    from optassign.generating.snapshots import generate
    from optassign.judging.comparison import Comparison
    from optassign.judging.convergences import Convergence
    from optassign.judging.metrics import Measures, measure
    from optassign.judging.validation import Violation, validate
    from optassign.library import Explained, compare, explain, read_snapshot, simulate
    from optassign.plots import plot_comparison, plot_front, plot_simulations
    from optassign.simulation.convergence import converge
    from optassign.simulation.timed.capacity import CapacityPlan, CapacityRanges, CapacityTarget, plan_capacity
    from optassign.simulation.timed.scenario import Scenario
    from optassign.simulation.timed.simulator import SimulatedRun

    __version__: str

__all__ = [
    "ApplicationState",
    "ArgumentError",
    "AssignmentConfigs",
    "AssignorError",
    "CapacityPlan",
    "CapacityRanges",
    "CapacityTarget",
    "Comparison",
    "Convergence",
    "Explained",
    "ExportError",
    "ExportedModel",
    "InputError",
    "KafkaStreamsAssignment",
    "KafkaStreamsState",
    "Measures",
    "MissingPackageError",
    "NotBalancedError",
    "OptassignError",
    "Options",
    "Scenario",
    "SimulatedRun",
    "TaskAssignment",
    "TaskAssignor",
    "TaskInfo",
    "Violation",
    "Weights",
    "__version__",
    "assign",
    "compare",
    "converge",
    "explain",
    "export_model",
    "generate",
    "measure",
    "plan_capacity",
    "plot_comparison",
    "plot_front",
    "plot_simulations",
    "read_snapshot",
    "simulate",
    "validate",
]

_NAMES = {
    "optassign.analysis.export": ("ExportError", "ExportedModel", "export_model"),
    "optassign.assignor": ("AssignorError", "TaskAssignor", "assign"),
    "optassign.errors": ("ArgumentError", "MissingPackageError", "OptassignError"),
    "optassign.formats.assignment": ("KafkaStreamsAssignment", "TaskAssignment"),
    "optassign.formats.input_errors": ("InputError",),
    "optassign.formats.state": ("ApplicationState", "AssignmentConfigs", "KafkaStreamsState", "Options", "TaskInfo", "Weights"),
    "optassign.generating.dealing": ("NotBalancedError",),
    "optassign.generating.snapshots": ("generate",),
    "optassign.judging.comparison": ("Comparison",),
    "optassign.judging.convergences": ("Convergence",),
    "optassign.judging.metrics": ("Measures", "measure"),
    "optassign.judging.validation": ("Violation", "validate"),
    "optassign.library": ("Explained", "compare", "explain", "read_snapshot", "simulate"),
    "optassign.plots": ("plot_comparison", "plot_front", "plot_simulations"),
    "optassign.simulation.convergence": ("converge",),
    "optassign.simulation.timed.capacity": ("CapacityPlan", "CapacityRanges", "CapacityTarget", "plan_capacity"),
    "optassign.simulation.timed.scenario": ("Scenario",),
    "optassign.simulation.timed.simulator": ("SimulatedRun",),
}
_WHERE = {name: module for module, names in _NAMES.items() for name in names}


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

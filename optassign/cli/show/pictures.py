"""Save figures to files, for --picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from optassign.cli.output import UsageError
from optassign.formats.input_errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_matplotlib() -> None:
    """Raise UsageError if matplotlib is not installed; to be called before any work is done."""
    try:
        import matplotlib  # noqa: F401 - checks that it is installed
    except ImportError:
        raise UsageError("--picture needs matplotlib: pip install 'optassign[plots]'") from None


def save_figure(figure: "Figure", path: str) -> None:
    """Save a figure in the format of the suffix. UsageError for an unknown suffix, InputError if it cannot be written."""
    try:
        # No date: equal figures give equal files.
        metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=120, metadata=metadata)
    except ValueError as error:
        raise UsageError(f"--picture: {str(error).partition(chr(10))[0]}") from None
    except OSError as error:
        why = f"that it cannot be written ({error.strerror or error})"
        raise InputError(path, "", why, "a file to write, such as loads.png") from None

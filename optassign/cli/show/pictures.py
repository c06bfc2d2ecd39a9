"""Figures into files, for --picture."""

from pathlib import Path
from typing import TYPE_CHECKING

from optassign.cli.output import UsageError
from optassign.formats.input_errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_matplotlib", "save_figure"]


def check_matplotlib() -> None:
    """UsageError where matplotlib is not installed; to be called before any work is done."""
    try:
        import matplotlib  # noqa: F401 - whether it is there
    except ImportError:
        raise UsageError("--picture needs matplotlib: pip install 'optassign[plots]'") from None


def save_figure(figure: "Figure", path: str) -> None:
    """Into a file, whose suffix says of what kind. UsageError for an unknown suffix, InputError if it cannot be written."""
    try:
        # No date inside: the same figure gives the same file.
        metadata = {"Date": None} if Path(path).suffix.lower() == ".svg" else {}
        figure.savefig(path, dpi=120, metadata=metadata)
    except ValueError as error:
        raise UsageError(f"--picture: {str(error).partition(chr(10))[0]}") from None
    except OSError as error:
        why = f"that it cannot be written ({error.strerror or error})"
        raise InputError(path, "", why, "a file to write, such as loads.png") from None

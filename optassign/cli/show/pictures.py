"""Figures in files, for --picture."""

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from optassign.cli.arguments import accept_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The metadata of each format without dates, so that equal figures give equal files.
_METADATA: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def accept_picture(text: str) -> str:
    """Return a file to draw into. argparse.ArgumentTypeError if it has another format, or nothing can be drawn."""
    if Path(text).suffix.lower() not in _METADATA:
        raise argparse.ArgumentTypeError(f"found {text!r}; allowed: a name that ends with {', '.join(_METADATA)}")
    if find_spec("matplotlib") is None:
        raise argparse.ArgumentTypeError("needs matplotlib: pip install 'optassign[plots]'")
    return accept_output(text)


def save_figure(figure: "Figure", path: str) -> None:
    """Save a figure as PNG, SVG or PDF, by the suffix. InputError if the file cannot be written."""
    import matplotlib as mpl

    from optassign.formats.input_errors import InputError

    try:
        with mpl.rc_context({"svg.hashsalt": "optassign"}):
            figure.savefig(path, dpi=120, metadata=_METADATA[Path(path).suffix.lower()])
    except OSError as error:
        why = f"that it cannot be written ({error.strerror or error})"
        raise InputError(path, "", why, "a file to write, such as loads.png") from None

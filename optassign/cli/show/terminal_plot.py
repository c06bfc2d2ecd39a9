"""A small plot for a terminal, of block characters."""

from collections.abc import Sequence

__all__ = ["plot_bars"]

_EIGHTHS = " ▁▂▃▄▅▆▇█"


def plot_bars(values: Sequence[float], most: float, rows: int) -> list[str]:
    """Lines from the top, a column for each value: `most` fills all rows; above 0 at least an eighth of a row is shown."""
    heights = [max(round(8 * rows * value / most), int(value > 0)) if most > 0 else 0 for value in values]
    return ["".join(_EIGHTHS[max(0, min(8, height - 8 * row))] for height in heights) for row in reversed(range(rows))]

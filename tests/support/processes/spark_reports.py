"""A user's steps with a report, for tests/spark: pasting its queries into `spark-sql`, and viewing its tables on a page."""

import html
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from spark_cluster import PATIENCE, QUICK

PAGE = 68 * 16
"""Width of a report's page in pixels, 68rem."""
_PADDING, _TEXT = 2 * 0.55 * 16, 13
"""The padding of a cell, both sides together, and its font size, in pixels, as in the page's style."""
_LARGE = "123,456,789,012"
"""An example of a large application's offsets."""
_SEPARATOR = "-- the next query --"


def read_tables(markdown: str) -> dict[str, tuple[str, list[list[str]]]]:
    """Return title → (query, lines of its table with the head first)."""
    found = {}
    for section in markdown.split("\n## ")[1:]:
        query = re.search(r"```sql\n(.*?)\n```", section, re.DOTALL)
        lines = [line[2:-2].split(" | ") for line in section.splitlines() if line.startswith("| ")]
        if lines and query is not None:
            found[section.partition("\n")[0]] = (query[1], [lines[0], *lines[2:]])
    return found


def paste_queries(queries: list[str], folder: Path) -> list[list[list[str]]]:
    """Run queries in pip's `spark-sql`, unchanged, in an empty folder; return the rows of each."""
    import pyspark

    script = folder / "pasted.sql"
    script.write_text(f"\nSELECT '{_SEPARATOR}';\n".join(queries))
    options = [option for name, value in QUICK.items() for option in ("--conf", f"{name}={value}")]
    done = subprocess.run(
        [Path(pyspark.__file__).parent / "bin" / "spark-sql", "--master", "local[1]", *options, "-f", script],
        cwd=folder,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [
        [line.split("\t") for line in text.splitlines() if line] for text in done.stdout.rstrip("\n").split(f"{_SEPARATOR}\n")
    ]


def measure_tables(page: str) -> dict[str, float]:
    """Return title → least width in pixels of its table, with large numbers as offsets.

    Measured in DejaVu Sans, which is wider than most systems' fonts.
    """
    found = {}
    for section in page.split("<h2 ")[1:]:
        heads = re.findall(r"<th\b[^>]*>(.*?)</th>", section)
        rows = [re.findall(r"<td([^>]*)>(.*?)</td>", line) for line in re.findall(r"<tr>(.*?)</tr>", section)[1:]]
        width = 0.0
        for i, head in enumerate(heads):
            texts = head.split()  # a head breaks between its words
            texts += [row[i][1] for row in rows if "text" not in row[i][0]]
            texts += [_LARGE] if re.match("restored|saved offsets", head) else []
            width += max(map(_measure_text, texts)) + _PADDING
        if heads:
            found[re.sub("<.*", "", section.partition(">")[2], flags=re.DOTALL)] = width
    return found


@cache
def _measure_text(text: str) -> float:
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), html.unescape(text), size=_TEXT).get_extents().width) if text else 0.0

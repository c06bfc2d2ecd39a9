"""`python docs/site/page_pictures.py`: draw the operator's pages in Chromium, with the demonstration's day.

The pictures are in docs/pictures, for light and dark pages. Needs the Debian package chromium, and the extra `dev`.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
WIDTH, COLOURS = 1280, 200
"""Width and number of colours of a picture; few colours keep it small."""
HEIGHTS = {"applications": 440, "application": 760, "rebalance": 1080, "what-if": 1240}
_MOST_TRIES = 120
"""Seconds that the service may take to become ready."""


def main() -> None:
    """Start the demonstration, open its pages, and write their pictures."""
    FOLDER.mkdir(exist_ok=True)
    with demonstrate() as url, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            context = chromium.new_context(base_url=url, color_scheme=scheme, viewport={"width": WIDTH, "height": 900})
            page = context.new_page()
            page.set_default_timeout(300_000)
            for name, address in list_addresses(url):
                page.goto(address)
                if name == "what-if":
                    page.locator("#timeline .uplot").last.wait_for()
                path = FOLDER / f"page-{name}-{scheme}.png"
                path.write_bytes(take_picture(page, HEIGHTS[name]))
                print(path)
            context.close()
        chromium.close()


def list_addresses(url: str) -> Iterator[tuple[str, str]]:
    """Yield name and address of each picture."""
    with urlopen(f"{url}/v1/history/orders") as answer:
        rebalances = json.load(answer)["rebalances"]
    joined = next(row["id"] for row in rebalances if row["joined"]).partition("/")[2]
    yield "applications", "/"
    yield "application", "/applications/orders"
    yield "rebalance", f"/applications/orders/rebalances/{joined}?task=0_3"
    yield "what-if", "/applications/payments/what-if?standbys=3"


def take_picture(page: Page, height: int) -> bytes:
    """Return the top of a page as PNG."""
    seen = page.screenshot(full_page=True, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    written = io.BytesIO()
    Image.open(io.BytesIO(seen)).convert("RGB").quantize(COLOURS).save(written, "PNG", optimize=True)
    return written.getvalue()


@contextmanager
def demonstrate() -> Iterator[str]:
    """Run `optassign serve --demo`, and yield its address."""
    command = [sys.executable, "-m", "optassign.cli", "serve", "--demo", "--port", "0", "--workers", "1"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            found = re.search(r" listening: .* url=(\S+)", line)
            if found:
                await_ready(found[1])
                yield found[1]
                return
        raise RuntimeError("the service does not start")
    finally:
        process.terminate()
        process.wait()


def await_ready(url: str) -> None:
    """Wait until the pages' worker answers; it starts after the others."""
    for _ in range(_MOST_TRIES):
        try:
            urlopen(f"{url}/v1/history/orders").close()
        except HTTPError:
            time.sleep(1.0)
        else:
            return
    raise RuntimeError("the service is not ready")


if __name__ == "__main__":
    main()

"""Send requests to a running service: its address, the token, and refusals as errors of one line."""

import json
import os
from argparse import ArgumentParser, Namespace
from typing import Any

from optassign.cli.output import RefusedError, UnreachableError, UsageError

CALL_S = 100.0
"""Time-out of a request: a page of what-if takes up to 90 s."""


_URL = "http://127.0.0.1:8924"


def add_service(parser: ArgumentParser) -> None:
    """Add --url and --token-file; `ask_service` uses them."""
    add = parser.add_argument_group("service").add_argument
    add("--url", metavar="URL", help=f"ask the service at this URL (default: $OPTASSIGN_URL, or {_URL})")
    add("--token-file", metavar="FILE", help="read the token from this file, its first word (default: $OPTASSIGN_TOKEN)")


def ask_service(arguments: Namespace, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Return the JSON of a page. UnreachableError without an answer, RefusedError if refused, UsageError for bad options."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    base = (arguments.url or os.environ.get("OPTASSIGN_URL") or _URL).rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise UsageError(f"--url: found {base!r}; allowed: http://host:port or https://host:port")
    headers = {"Optassign-Protocol": "1", "Content-Type": "application/json"}
    token = _read_token(arguments)
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    content = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(base + path, content, headers, method=method), timeout=CALL_S) as response:
            return json.load(response)
    except HTTPError as error:
        raise RefusedError(
            f"the service refused the request (status {error.code}): {_describe_refusal(error.read(1 << 16))}"
        ) from None
    except URLError as error:
        raise UnreachableError(_describe_unreachable(base, error.reason)) from None
    except (OSError, ValueError, HTTPException) as error:
        raise UnreachableError(_describe_unreachable(base, error)) from None


def _describe_unreachable(base: str, why: object) -> str:
    return f"no service answers at {base} ({why}); start one with `optassign serve`, or name another with --url"


def _read_token(arguments: Namespace) -> str | None:
    if arguments.token_file is None:
        return os.environ.get("OPTASSIGN_TOKEN", "").strip() or None
    try:
        with open(arguments.token_file, encoding="utf-8") as file:
            words = file.read(1 << 16).split()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file: found that it cannot be read ({error}); allowed: a text file") from None
    if not words:
        raise UsageError("--token-file: found no token in it; allowed: a file that begins with the token")
    return words[0]


def _describe_refusal(content: bytes) -> str:
    """Return a refusal's JSON as one line; of other content, the first 200 bytes."""
    try:
        parts = json.loads(content)
        where, found, allowed = (parts.get(name) for name in ("where", "found", "allowed"))
        text = str(parts["error"])
    except (ValueError, KeyError, AttributeError):
        return " ".join(content[:200].decode(errors="replace").split()) or "no reason given"
    text += f": {where}" if where else ""
    text += f": found {found}" if found else ""
    return text + (f"; allowed: {allowed}" if allowed else "")

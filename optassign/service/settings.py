"""What `optassign serve` can be told, and what of it is refused before anything starts."""

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["TOKEN_VARIABLE", "Limits", "Settings", "SettingsError", "check_tls", "count_default_workers", "read_token"]

TOKEN_VARIABLE = "OPTASSIGN_TOKEN"
"""The variable of the environment that has the token where --token-file does not."""
_SHORTEST_TOKEN = 16


class SettingsError(ValueError):
    """Settings that cannot be, or that would not be safe. `str()` is one line."""


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may ask for. Over a limit the status is 413 or 503."""

    body_bytes: int = 64 << 20
    """Of a body, before and after inflating it."""
    cells: int = 100_000_000
    """Tasks × clients."""
    name_length: int = 255
    """Characters of an application's or a client's name."""
    in_flight: int = 64
    """Requests that are read or answered at once."""
    applications: int = 256
    """How many have their last answer remembered, and metrics of their own."""


@dataclass(frozen=True)
class Settings:
    """All that `optassign serve` can be told; times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8924
    """0: any free port."""
    workers: int = 1
    assignor: str = "cp-sat"
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:class") of assignors that are not optassign's own."""
    default_deadline: float = 5.0
    """Of a request that states none."""
    recordings: Path | None = None
    keep_days: float = 90.0
    keep_bytes: int = 10 << 30
    token: str | None = field(default=None, repr=False)
    tls_cert: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    log_format: Literal["json", "text"] = "text"
    limits: Limits = Limits()


def count_default_workers() -> int:
    """One per processor that may be used, at most 4."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, usable)


def read_token(path: Path | None) -> str | None:
    """The token in a file, or else in the environment; None if there is none. SettingsError if it is too weak to serve."""
    if path is not None:
        try:
            token, where = path.read_text(encoding="utf-8").strip(), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"--token-file: found that {path} cannot be read ({error}); allowed: a text file") from None
    elif TOKEN_VARIABLE in os.environ:
        token, where = os.environ[TOKEN_VARIABLE].strip(), TOKEN_VARIABLE
    else:
        return None
    if len(token) < _SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        allowed = f"at least {_SHORTEST_TOKEN} printable ASCII characters without spaces"
        raise SettingsError(f"{where}: found a token of {len(token)} characters; allowed: {allowed}")
    return token


def check_tls(settings: Settings) -> None:
    """SettingsError unless certificate and key are both there and belong together, or both are missing."""
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise SettingsError("found only one of --tls-cert and --tls-key; allowed: both or neither")
    if settings.tls_cert is not None and settings.tls_key is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(settings.tls_cert, settings.tls_key)
        except (OSError, ssl.SSLError) as error:
            found = f"that {settings.tls_cert} and {settings.tls_key} cannot be used ({error})"
            raise SettingsError(f"--tls-cert, --tls-key: found {found}; allowed: PEM files that belong together") from None

"""Settings of `optassign serve`, their checks before the start, and files that are reloaded when they change."""

import os
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optassign_models.policy.constants import IDLE_FOLLOWUP_MS

__all__ = [
    "TOKEN_VARIABLE",
    "Limits",
    "Settings",
    "SettingsError",
    "WatchedFiles",
    "check_tls",
    "count_default_workers",
    "find_expiry",
    "list_readable_secrets",
]

TOKEN_VARIABLE = "OPTASSIGN_TOKEN"
"""The environment variable with the token, used without --token-file."""


class SettingsError(ValueError):
    """Raised for invalid or unsafe settings. `str()` is one line."""


@dataclass(frozen=True)
class Limits:
    """The limits of one request, and of all requests together. Beyond a limit the status is 413 or 503, or the connection is
    refused."""

    body_bytes: int = 64 << 20
    """Bytes of a body, before and after inflating."""
    cells: int = 100_000_000
    """Number of tasks × clients."""
    name_length: int = 255
    """Characters of an application's or a client's name."""
    connections: int = 512
    """Number of connections in total."""
    connections_per_peer: int = 128
    """Number of connections from one address."""
    held_bytes: int = 256 << 20
    """Bytes of all bodies under way; bodies of up to 1 MiB do not count."""
    worker_bytes: int = 4 << 30
    """Bytes of a worker process's address space; 0: no limit."""
    applications: int = 256
    """Number of applications with a remembered last answer and metrics."""


@dataclass(frozen=True)
class Settings:
    """The settings of `optassign serve`; times in seconds."""

    host: str = "127.0.0.1"
    port: int = 8924
    """0 for any free port."""
    workers: int = 1
    assignor: str = "cp-sat"
    registered: tuple[tuple[str, str], ...] = ()
    """(name, "module:class") of assignors from other packages."""
    default_deadline: float = 5.0
    """Seconds for a request without a deadline."""
    idle_followup: float = IDLE_FOLLOWUP_MS / 1000
    """Seconds after which a stable group rebalances, so that operators' requests take effect; 0 for never."""
    recordings: Path | None = None
    keep_days: float = 90.0
    keep_bytes: int = 10 << 30
    applications_file: Path | None = None
    """The file with quiet hours and limits of applications."""
    token_file: Path | None = None
    """None: the token of the environment, if any."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Certificate authorities; only clients with their certificates may connect."""
    behind_proxy: bool = False
    log_format: Literal["json", "text"] = "text"
    runbook: str = ""
    grafana: str = ""
    """Addresses of runbook and dashboard for links on pages; empty for no link."""
    demo: bool = False
    """Whether to record a simulated day in a folder that is deleted at the end."""
    limits: Limits = Limits()

    @property
    def idle_followup_ms(self) -> int | None:
        """Return `idle_followup` in the form of snapshots: milliseconds, or None for 0."""
        return round(self.idle_followup * 1000) or None


def count_default_workers() -> int:
    """Return the number of usable processors, but 2 to 4. One worker takes no large groups, so that small ones do not wait."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, max(2, usable))


def find_expiry(path: Path) -> float | None:
    """Return the earliest expiry in a PEM file, in seconds since 1970; None if no certificate can be read."""
    from cryptography.x509 import load_pem_x509_certificates  # workers never need it

    try:
        found = load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        return None
    return min(each.not_valid_after_utc.timestamp() for each in found)


def check_tls(settings: Settings) -> None:
    """Raise SettingsError unless certificate, key and client CA are valid together. The CA, or all three, may be missing."""
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        raise SettingsError("found --tls-client-ca without --tls-cert; allowed: both, since client certificates need TLS")
    if (settings.tls_cert is None) != (settings.tls_key is None):
        raise SettingsError("found only one of --tls-cert and --tls-key; allowed: both or neither")
    if settings.tls_cert is not None and settings.tls_key is not None:
        try:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(settings.tls_cert, settings.tls_key)
        except (OSError, ssl.SSLError) as error:
            found = f"that {settings.tls_cert} and {settings.tls_key} cannot be used ({error})"
            raise SettingsError(f"--tls-cert, --tls-key: found {found}; allowed: PEM files that belong together") from None
        if settings.tls_client_ca is not None:
            try:
                context.load_verify_locations(settings.tls_client_ca)
            except (OSError, ssl.SSLError) as error:
                found = f"that {settings.tls_client_ca} cannot be used ({error})"
                raise SettingsError(f"--tls-client-ca: found {found}; allowed: a PEM file with certificates") from None


class WatchedFiles:
    """The last seen state of some files. Create it before reading the files, so that no change falls in between."""

    def __init__(self, *paths: Path | None) -> None:
        self._paths = [path for path in paths if path is not None]
        self._seen = [_look_at(path) for path in self._paths]

    def have_changed(self) -> bool:
        """Return whether a file has changed since the last call. Not for the event loop, since it reads the file system."""
        before, self._seen = self._seen, [_look_at(path) for path in self._paths]
        return self._seen != before


def _look_at(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)  # chmod and chown change st_ctime_ns alone


def list_readable_secrets(settings: Settings) -> list[Path]:
    """Return the secret files that every user of this machine may read."""
    found = []
    for path in (settings.token_file, settings.tls_key):
        try:
            if path is not None and os.stat(path).st_mode & stat.S_IROTH and os.name == "posix":
                found.append(path)
        except OSError:
            continue  # reading the file raises the error later
    return found

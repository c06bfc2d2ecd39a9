"""The settings of `optassign serve`, the checks before the service starts, and files that are read anew when they change."""

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
"""The variable of the environment that has the token where --token-file does not."""


class SettingsError(ValueError):
    """Settings that cannot be, or that would not be safe. `str()` is one line."""


@dataclass(frozen=True)
class Limits:
    """The limits of one request, and of all of them together. Over a limit the status is 413 or 503, or the connection is
    refused."""

    body_bytes: int = 64 << 20
    """Bytes of a body, before and after inflating it."""
    cells: int = 100_000_000
    """Tasks × clients."""
    name_length: int = 255
    """Characters of an application's or a client's name."""
    connections: int = 512
    """In all."""
    connections_per_peer: int = 128
    """From one address."""
    held_bytes: int = 256 << 20
    """Bytes of all requests' bodies under way; bodies of up to 1 MiB do not count."""
    worker_bytes: int = 4 << 30
    """Bytes of a worker process's address space; 0: no limit."""
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
    """Seconds for a request that states no deadline."""
    idle_followup: float = IDLE_FOLLOWUP_MS / 1000
    """After so long a group at rest rebalances, so that operators' requests take effect; 0: it does not."""
    recordings: Path | None = None
    keep_days: float = 90.0
    keep_bytes: int = 10 << 30
    applications_file: Path | None = None
    """Quiet hours and limits of applications."""
    token_file: Path | None = None
    """None: what the environment has, if it has one."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    """Only clients with a certificate of these authorities may connect."""
    behind_proxy: bool = False
    log_format: Literal["json", "text"] = "text"
    runbook: str = ""
    grafana: str = ""
    """Addresses of the runbook and of the dashboard, which pages link to; empty: there is no link."""
    demo: bool = False
    """Recordings of a simulated day, in a folder that is deleted at the end."""
    limits: Limits = Limits()

    @property
    def idle_followup_ms(self) -> int | None:
        """`idle_followup` as snapshots have it."""
        return round(self.idle_followup * 1000) or None


def count_default_workers() -> int:
    """Return a worker per usable processor, from 2 to 4: one takes no large group, so that small groups do not wait."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(4, max(2, usable))


def find_expiry(path: Path) -> float | None:
    """Return the seconds since 1970 at which the first certificate of a PEM file expires; None if the file has none."""
    from cryptography.x509 import load_pem_x509_certificates  # which workers never need

    try:
        found = load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        return None
    return min(each.not_valid_after_utc.timestamp() for each in found)


def check_tls(settings: Settings) -> None:
    """SettingsError unless certificate and key are both there and belong together, or both are missing."""
    if settings.tls_client_ca is not None and settings.tls_cert is None:
        raise SettingsError("found --tls-client-ca without --tls-cert; allowed: certificates of clients where there is TLS")
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
    """Some files as they were last seen. Made before they are read first, so that no change falls in between."""

    def __init__(self, *paths: Path | None) -> None:
        self._paths = [path for path in paths if path is not None]
        self._seen = [_look_at(path) for path in self._paths]

    def have_changed(self) -> bool:
        """Return whether a file differs from the last call; it asks the file system, so never on the event loop."""
        before, self._seen = self._seen, [_look_at(path) for path in self._paths]
        return self._seen != before


def _look_at(path: Path) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def list_readable_secrets(settings: Settings) -> list[Path]:
    """List the files of secrets that every user of this machine may read."""
    found = []
    for path in (settings.token_file, settings.tls_key):
        try:
            if path is not None and os.stat(path).st_mode & stat.S_IROTH and os.name == "posix":
                found.append(path)
        except OSError:
            continue  # what cannot be read is an error elsewhere
    return found

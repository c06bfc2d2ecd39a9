"""When certificates expire, read from PEM files."""

from pathlib import Path

from cryptography.x509 import load_pem_x509_certificates

__all__ = ["find_expiry"]


def find_expiry(path: Path) -> float | None:
    """Return the seconds since 1970 at which the first certificate of a PEM file expires; None if the file has none."""
    try:
        found = load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError):
        return None
    return min(each.not_valid_after_utc.timestamp() for each in found)

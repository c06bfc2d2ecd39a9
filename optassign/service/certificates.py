"""When certificates expire, read from PEM files without a library beyond Python's own."""

import re
import ssl
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["find_expiry"]

_PEM = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_SEQUENCE, _EXPLICIT_VERSION, _UTC_TIME = 0x30, 0xA0, 0x17


def find_expiry(path: Path) -> float | None:
    """Return the seconds since 1970 at which the first certificate of a PEM file expires; None if the file has none."""
    try:
        texts = _PEM.findall(path.read_text(encoding="ascii", errors="replace"))
        return min((_read_not_after(ssl.PEM_cert_to_DER_cert(text)) for text in texts), default=None)
    except (OSError, ValueError, IndexError):
        return None


def _read_not_after(der: bytes) -> float:
    """Return `notAfter` of a certificate (RFC 5280, section 4.1): the second time of the fifth field of the inner sequence.

    ValueError or IndexError if the bytes are no certificate.
    """
    _, certificate, _ = _read_value(der)
    _, fields, _ = _read_value(certificate)
    tag, _, after_version = _read_value(fields)
    if tag == _EXPLICIT_VERSION:
        fields = after_version
    for _ in ("serial number", "signature", "issuer"):
        _, _, fields = _read_value(fields)
    tag, validity, _ = _read_value(fields)
    if tag != _SEQUENCE:
        raise ValueError("no validity")
    _, _, rest = _read_value(validity)
    tag, not_after, _ = _read_value(rest)
    layout = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(not_after.decode("ascii"), layout).replace(tzinfo=UTC).timestamp()


def _read_value(der: bytes) -> tuple[int, bytes, bytes]:
    """Return tag and content of the first value of DER bytes, and the bytes after it (ITU-T X.690)."""
    tag, length, start = der[0], der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start], "big")
    return tag, der[start : start + length], der[start + length :]

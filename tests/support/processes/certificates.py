"""Certificates for tests of TLS, as files."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True)
class Files:
    """Certificate and key of a service at 127.0.0.1."""

    certificate: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of `optassign serve` for these files."""
        return "--tls-cert", str(self.certificate), "--tls-key", str(self.key)


def write_certificate(authority: trustme.CA, folder: Path) -> Files:
    """Write a new certificate of the authority and its key, replacing existing files."""
    files, issued = Files(folder / "cert.pem", folder / "key.pem"), authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(files.certificate))
    issued.private_key_pem.write_to_path(str(files.key))
    return files


def trust(authority: trustme.CA) -> ssl.SSLContext:
    """Return the context of a client that trusts only this authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context

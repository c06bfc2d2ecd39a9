"""Certificates for tests of TLS, as files."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key


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


def write_key_store(authority: trustme.CA, file: Path) -> Path:
    """Write a new key of 127.0.0.1 and its certificate into one file, as Kafka reads them."""
    issued = authority.issue_cert("127.0.0.1")
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    certificates = b"".join(each.bytes() for each in issued.cert_chain_pems)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + certificates)
    return file


def trust(authority: trustme.CA) -> ssl.SSLContext:
    """Return the context of a client that trusts only this authority."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context

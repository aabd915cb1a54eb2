"""An authority for tests, and files of what it signs."""

import ssl
import time
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from app.pki.authority import Authority, new_authority
from app.pki.certificate_order import CertificateOrder, issue
from app.pki.certificate_subject import CertificateKind, CertificateSubject
from app.pki.host import LOOPBACK
from app.pki.private_key import new_private_key, pem_of_key

DAY_MS = 86_400_000
NOW_MS = time.time_ns() // 1_000_000
_numbers = count(1)


def made_authority(*, now_ms: int = NOW_MS, days: int = 3650) -> Authority:
    return new_authority("Tests", key=new_private_key(), random_bits=next(_numbers), now_ms=now_ms, days=days)


def subject(kind: str, name: str = "") -> CertificateSubject:
    return CertificateSubject(CertificateKind(kind), name)


SERVER = subject("server")


def pem_of(authority: Authority) -> bytes:
    return authority.certificate.public_bytes(Encoding.PEM)


def signed(
    authority: Authority,
    holder: CertificateSubject = SERVER,
    *,
    hosts: tuple[str, ...] = LOOPBACK,
    days: int = 90,
    now_ms: int = NOW_MS,
) -> tuple[bytes, bytes]:
    """Certificate and key, in PEM."""
    key = new_private_key()
    order = CertificateOrder(holder, hosts if holder.serves else (), days)
    made = issue(order, authority, key=key, random_bits=next(_numbers), now_ms=now_ms)
    return made.public_bytes(Encoding.PEM), pem_of_key(key)


class TlsFilesOf:
    """`ca.pem`, `own.pem` and `own-key.pem` in a directory."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.ca = directory / "ca.pem"
        self.certificate = directory / "own.pem"
        self.key = directory / "own-key.pem"

    def trust(self, *authorities: Authority) -> "TlsFilesOf":
        _replace(self.ca, b"".join(pem_of(each) for each in authorities))
        return self

    def hold(self, pair: tuple[bytes, bytes]) -> "TlsFilesOf":
        _replace(self.key, pair[1])
        _replace(self.certificate, pair[0])
        return self

    def server_context(self, *, wants_clients: bool = False) -> ssl.SSLContext:
        """With `wants_clients`, who calls has to show a certificate by an authority of `ca.pem`."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificate, self.key)
        if wants_clients:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.ca)
        return context

    def client_context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        if self.certificate.exists():
            context.load_cert_chain(self.certificate, self.key)
        return context


def _replace(path: Path, content: bytes) -> None:
    """As a whole, as `acklog pki` and Kubernetes do it."""
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(content)
    new.replace(path)

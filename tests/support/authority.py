"""Certificates for tests, as `acklog pki` makes them, without a process for each."""

import secrets
import time
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from app.pki.authority import Authority, new_authority
from app.pki.certificate_order import CertificateOrder, issue
from app.pki.certificate_subject import CertificateSubject, subject_of_stem
from app.pki.private_key import new_private_key, pem_of_key
from cluster.tls.tls_files import TlsFiles

HOSTS = ("localhost", "127.0.0.1")
DAY_MS = 86_400_000


class OwnAuthority:
    """Its certificate is `ca.pem` in `directory`, and what it signs lies beside it, as `acklog pki` has it."""

    def __init__(self, directory: Path, name: str = "tests") -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self._authority = _authority(name)
        self.write_trust()

    @property
    def ca_file(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def pem(self) -> bytes:
        return self._authority.certificate.public_bytes(Encoding.PEM)

    def write_trust(self, *others: "OwnAuthority") -> None:
        """Whom `ca.pem` says to believe: this one, and others."""
        self.ca_file.write_bytes(self.pem + b"".join(each.pem for each in others))

    def issue(self, stem: str, *, directory: Path | None = None, age_days: int = 0, days: int = 90) -> TlsFiles:
        """Whose certificate that is `stem` says, as in `node-1`. One that is older than its `days` has ended."""
        subject = subject_of_stem(stem)
        assert subject is not None, stem
        return self._issue(subject, self.directory if directory is None else directory, age_days, days)

    def _issue(self, subject: CertificateSubject, directory: Path, age_days: int, days: int) -> TlsFiles:
        key = new_private_key()
        order = CertificateOrder(subject, HOSTS if subject.serves else (), days)
        now_ms = int(time.time() * 1000) - age_days * DAY_MS
        signed = issue(order, self._authority, key=key, random_bits=secrets.randbits(128), now_ms=now_ms)
        files = TlsFiles(
            str(directory / f"{subject.file_stem}.pem"),
            str(directory / f"{subject.file_stem}-key.pem"),
            str(self.ca_file),
        )
        Path(files.key).write_bytes(pem_of_key(key))
        Path(files.certificate).write_bytes(signed.public_bytes(Encoding.PEM))
        return files


def _authority(name: str) -> Authority:
    """Made two years ago, so that it may have signed what has ended since."""
    now_ms = int(time.time() * 1000) - 730 * DAY_MS
    return new_authority(name, key=new_private_key(), random_bits=secrets.randbits(128), now_ms=now_ms, days=3650)

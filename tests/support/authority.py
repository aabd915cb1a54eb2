"""A directory as `acklog pki` makes it, without a process for each certificate."""

from pathlib import Path

from app.pki.certificate_subject import subject_of_stem
from app.pki.host import LOOPBACK
from cluster.tls.tls_files import TlsFiles
from tests.support.own_authority import DAY_MS, NOW_MS, made_authority, pem_of, signed


class OwnAuthority:
    """Its certificate is `ca.pem` in `directory`, and what it signs lies beside it. It was made two years ago, so that
    it may have signed what has ended since."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self._authority = made_authority(now_ms=NOW_MS - 730 * DAY_MS)
        self.write_trust()

    @property
    def ca_file(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def pem(self) -> bytes:
        return pem_of(self._authority)

    def write_trust(self, *others: "OwnAuthority") -> None:
        """Whom `ca.pem` says to believe: this one, and others."""
        self.ca_file.write_bytes(self.pem + b"".join(each.pem for each in others))

    def issue(
        self,
        stem: str,
        *,
        directory: Path | None = None,
        hosts: tuple[str, ...] = LOOPBACK,
        age_days: int = 0,
        days: int = 90,
    ) -> TlsFiles:
        """Whose certificate that is `stem` says, as in `node-1`. One that is older than its `days` has ended."""
        holder = subject_of_stem(stem)
        assert holder is not None, stem
        place = self.directory if directory is None else directory
        certificate, key = signed(self._authority, holder, hosts=hosts, days=days, now_ms=NOW_MS - age_days * DAY_MS)
        files = TlsFiles(str(place / f"{stem}.pem"), str(place / f"{stem}-key.pem"), str(self.ca_file))
        Path(files.key).write_bytes(key)
        Path(files.certificate).write_bytes(certificate)
        return files

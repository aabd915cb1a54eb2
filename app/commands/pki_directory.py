"""A directory with an authority and what it has signed.

    ca.pem              whom to trust: to be handed to everybody
    ca-key.pem          the authority's key: it leaves the directory for a backup only
    ca-next-key.pem     while another authority is about to follow
    node-1.pem          a certificate, signed by the authority, and beside it
    node-1-key.pem      its key

A file is replaced as a whole: who reads a certificate while it is renewed finds the old one or the new one, and the
new one belongs to whom the old one belonged. A key is renewed before its certificate; between the two they do not
match, for which servers and clients wait.
"""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from app.commands.file_access import FileAccess
from app.pki.certificate_file import read_x509
from app.pki.certificate_subject import CertificateSubject, subject_of_stem
from app.pki.pki_error import PkiError
from app.pki.private_key import is_key_of, pem_of_key, read_private_key
from app.pki.trust import Trust

PRIVATE_DIRECTORY_MODE = 0o700
PRIVATE_FILE_MODE = 0o600
PUBLIC_FILE_MODE = 0o644
FILE_BYTES_MAX = 1 << 20
CERTIFICATES_MAX = 10_000
TRUST_NAME, KEY_NAME, NEXT_KEY_NAME = "ca.pem", "ca-key.pem", "ca-next-key.pem"
_OF_OTHERS = 0o077
_BEGUN = frozenset(f".{name}.new" for name in (KEY_NAME, TRUST_NAME))
"""What an `init` that was killed leaves. With the key in its place, one of them is still there: a key alone is that of
an authority that has lost its certificate."""


class PkiDirectory:
    """Made by `made` or `opened`. Every method raises PkiError for files that cannot be used, OSError for a disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: list[str] = []
        """Which files have taken their names, in their order."""

    @classmethod
    def made(cls, path: Path, trust: Trust) -> "PkiDirectory":
        """A new one, where there is none or an empty one; what an `init` left that was killed is as nothing. Else what
        is there is not touched."""
        is_new = _is_made(path)
        directory = cls(path)
        try:
            with _locked(path):
                directory._check_empty()
                path.chmod(PRIVATE_DIRECTORY_MODE)  # whatever the umask has taken
                directory._write_authority(trust)
        except BaseException:
            if is_new:
                with suppress(OSError):
                    path.rmdir()
            raise
        return directory

    @classmethod
    @contextmanager
    def opened(cls, path: Path) -> "Iterator[PkiDirectory]":
        """One that is there, with other commands kept out meanwhile."""
        if not (path / TRUST_NAME).is_file():
            what = f"{path} holds no authority" if path.is_dir() else f"there is no directory {path}"
            raise PkiError(what, field="--dir", hint=_hint_without_authority(path))
        with _locked(path):
            yield cls(path)

    # --- the authority -----------------------------------------------------------------------------------------------

    def authorities(self) -> tuple[x509.Certificate, ...]:
        """Those of `ca.pem`, the newest first."""
        return tuple(self._x509(TRUST_NAME))

    def trust(self) -> Trust:
        next_key = self._key(NEXT_KEY_NAME) if (self.path / NEXT_KEY_NAME).exists() else None
        return Trust(self.authorities(), self._key(KEY_NAME), next_key)

    def write_trust(self, authorities: tuple[x509.Certificate, ...]) -> None:
        self._write(TRUST_NAME, b"".join(each.public_bytes(Encoding.PEM) for each in authorities), PUBLIC_FILE_MODE)

    def write_next_key(self, key: ec.EllipticCurvePrivateKey) -> None:
        """Before the successor's certificate is in `ca.pem`: until then the key has signed nothing. It belongs to whom
        the key belongs that it is going to replace."""
        self._write_together([(NEXT_KEY_NAME, pem_of_key(key), self._access_of(KEY_NAME, PRIVATE_FILE_MODE))])

    def let_next_sign(self) -> None:
        """The old authority's key is gone with that: it signs nothing any more. Nothing happens where none follows."""
        if (self.path / NEXT_KEY_NAME).exists():
            self._place(self.path / NEXT_KEY_NAME, KEY_NAME)
            self._sync()

    # --- what it has signed ------------------------------------------------------------------------------------------

    def subjects(self) -> list[CertificateSubject]:
        """Whose certificates are here, by name."""
        stems = sorted(each.name.removesuffix(".pem") for each in self.path.glob("*.pem"))
        found = [subject for stem in stems if (subject := subject_of_stem(stem)) is not None]
        if len(found) > CERTIFICATES_MAX:
            raise PkiError(f"{self.path} holds more than {CERTIFICATES_MAX} certificates")
        return found

    def has(self, subject: CertificateSubject) -> bool:
        return any((self.path / name).exists() for name in _names_of(subject))

    def certificate(self, subject: CertificateSubject) -> x509.Certificate:
        return self._x509(_names_of(subject)[0])[0]

    def has_key_of(self, subject: CertificateSubject) -> bool:
        """Whether the key belongs to the certificate; not so where a renewal was interrupted between the two."""
        try:
            return is_key_of(self._key(_names_of(subject)[1]), self.certificate(subject))
        except PkiError:
            return False

    def write(
        self, subject: CertificateSubject, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
    ) -> list[Path]:
        """Both files or, but for a crash between two renames, none."""
        certificate_name, key_name = _names_of(subject)
        pem = certificate.public_bytes(Encoding.PEM)
        self._write_together(
            [
                (key_name, pem_of_key(key), self._access_of(key_name, PRIVATE_FILE_MODE)),
                (certificate_name, pem, self._access_of(certificate_name, PUBLIC_FILE_MODE)),
            ]
        )
        return [self.path / certificate_name, self.path / key_name]

    def open_to_others(self) -> list[str]:
        """What others on this machine may read and should not, with what to do about it."""
        found = [self.path] if stat.S_IMODE(self.path.stat().st_mode) & _OF_OTHERS else []
        keys = sorted(self.path.glob("*-key.pem"))
        found += [each for each in keys if stat.S_IMODE(each.stat().st_mode) & _OF_OTHERS]
        return [f"others may read {each}: chmod {'700' if each.is_dir() else '600'} {each}" for each in found]

    # --- the beginning -----------------------------------------------------------------------------------------------

    def _check_empty(self) -> None:
        if _is_empty(self.path):
            return
        hint = "Name another directory, or one that is empty."
        if any((self.path / name).exists() for name in (KEY_NAME, TRUST_NAME)):
            hint = "Name another directory: its authority's key would be lost, and with it everything it has signed."
        raise PkiError(f"{self.path} is there already", field="DIR", hint=hint)

    def _write_authority(self, trust: Trust) -> None:
        pem = b"".join(each.public_bytes(Encoding.PEM) for each in trust.authorities)
        try:
            self._write_together(
                [
                    (KEY_NAME, pem_of_key(trust.key), FileAccess.new(PRIVATE_FILE_MODE)),
                    (TRUST_NAME, pem, FileAccess.new(PUBLIC_FILE_MODE)),
                ]
            )
        except OSError:
            for name in (TRUST_NAME, KEY_NAME):
                with suppress(OSError):
                    (self.path / name).unlink()
            raise

    # --- files -------------------------------------------------------------------------------------------------------

    def _x509(self, name: str) -> list[x509.Certificate]:
        try:
            return read_x509(self._read(name))
        except PkiError as error:
            raise PkiError(f"{self.path / name}: {error}") from None

    def _key(self, name: str) -> ec.EllipticCurvePrivateKey:
        try:
            return read_private_key(self._read(name))
        except PkiError as error:
            raise PkiError(f"{self.path / name}: {error}") from None

    def _read(self, name: str) -> bytes:
        try:
            with (self.path / name).open("rb") as file:
                content = file.read(FILE_BYTES_MAX + 1)
        except OSError as error:
            raise PkiError(f"it cannot be read: {error.strerror or error}") from None
        if len(content) > FILE_BYTES_MAX:
            raise PkiError(f"it has more than {FILE_BYTES_MAX} bytes")
        return content

    def _write(self, name: str, content: bytes, mode: int) -> None:
        self._write_together([(name, content, self._access_of(name, mode))])

    def _access_of(self, name: str, mode: int) -> FileAccess:
        """Of the file that is there, else of a new one with `mode`."""
        return FileAccess.of(self.path / name) or FileAccess.new(mode)

    def _write_together(self, files: list[tuple[str, bytes, FileAccess]]) -> None:
        """Each whole or not at all: all are on the disk before the first takes its name. None is readable by others who
        may not, not even for a moment."""
        temporaries = [self.path / f".{name}.new" for name, _, _ in files]
        try:
            for temporary, (_, content, access) in zip(temporaries, files, strict=True):
                _write_new(temporary, content, access)
            for temporary, (name, _, _) in zip(temporaries, files, strict=True):
                self._place(temporary, name)
        finally:
            for temporary in temporaries:
                temporary.unlink(missing_ok=True)
        self._sync()

    def _place(self, source: Path, name: str) -> None:
        source.replace(self.path / name)
        self.written.append(name)

    def _sync(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _names_of(subject: CertificateSubject) -> tuple[str, str]:
    return f"{subject.file_stem}.pem", f"{subject.file_stem}-key.pem"


def _write_new(path: Path, content: bytes, access: FileAccess) -> None:
    path.unlink(missing_ok=True)  # of a command that was killed
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        access.give(descriptor)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """With other commands kept out."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    """Until it is closed."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PkiError(f"another command works on {path}", hint="Try again when it is done.") from None


def _is_made(path: Path) -> bool:
    """Whether the directory was made by this; else it is there. Raises PkiError."""
    try:
        path.mkdir(mode=PRIVATE_DIRECTORY_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise PkiError(f"{path} is there already", field="DIR", hint="It is no directory: name another.") from None
        return False
    except FileNotFoundError:
        raise PkiError(f"there is no directory {path.parent} to make it in", field="DIR") from None
    return True


def _is_empty(path: Path) -> bool:
    found = {each.name for each in path.iterdir()}
    return found <= _BEGUN | {KEY_NAME} and found != {KEY_NAME}


def _hint_without_authority(path: Path) -> str:
    if path.is_dir() and not _is_empty(path) and (path / KEY_NAME).exists():
        return f"{TRUST_NAME} is missing beside {KEY_NAME}: take it from a backup, or from one of its holders."
    return "Name it by --dir, or make one: acklog pki init."

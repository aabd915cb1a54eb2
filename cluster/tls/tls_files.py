"""The files that TLS is told by: whose certificate we show, and whose we believe."""

import ssl
from dataclasses import dataclass

from cluster.regular_file import read_regular_file


class TlsFilesError(ValueError):
    """The files cannot be used. The text names the file, and holds nothing of a key."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Paths of PEM files. `certificate` may hold the chain behind it; `authorities`, of several, is whose certificates
    are believed; "": nobody's."""

    certificate: str
    key: str
    authorities: str = ""

    def read(self) -> tuple[bytes, ...]:
        """What they hold now, to compare with later. Blocks. Raises TlsFilesError."""
        return tuple(_content(path) for path in (self.certificate, self.key, self.authorities) if path)

    def load_into(self, context: ssl.SSLContext) -> None:
        """Blocks. Raises TlsFilesError."""
        _content(self.key)  # OpenSSL would not say which of the two is missing
        try:
            # Without the callback a key with a password would ask whoever sits at the terminal, and wait.
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
        except (ssl.SSLError, OSError, ValueError) as error:
            what = f"the certificate {self.certificate} and the key {self.key} cannot be used together"
            raise TlsFilesError(f"{what}: {_why(error)}") from None
        if self.authorities:
            try:
                context.load_verify_locations(cafile=self.authorities)
            except (ssl.SSLError, OSError) as error:
                raise TlsFilesError(f"the authorities in {self.authorities} cannot be used: {_why(error)}") from None


def _content(path: str) -> bytes:
    try:
        return read_regular_file(path)
    except OSError as error:
        raise TlsFilesError(f"{path} cannot be read: {error.strerror or error}") from None


def _no_password() -> str:
    raise ValueError("the key has a password, which nobody is there to type: give one without")


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        reason = (error.reason or "").lower().replace("_", " ")
        return reason or "it holds nothing of this kind in PEM"
    return str(error)

"""When a certificate is valid: that much can be said of one whose authority only those know who will see it."""

from typing import TYPE_CHECKING

from cluster.tls.tls_files import TlsFilesError

if TYPE_CHECKING:
    from app.pki.certificate_file import Certificate


def check_time(path: str, *, now_ms: int) -> None:
    """Blocks. Raises TlsFilesError for one that has ended, or has not begun."""
    from app.pki.authority import moment

    certificate = read_own(path)
    if certificate is None:
        return
    if now_ms >= certificate.not_after_ms:
        ended = moment(certificate.not_after_ms)
        raise TlsFilesError(f"the certificate {path} has ended, at {ended:%Y-%m-%d %H:%M} UTC")
    if now_ms < certificate.not_before_ms:
        begins = moment(certificate.not_before_ms)
        raise TlsFilesError(f"the certificate {path} is not valid before {begins:%Y-%m-%d %H:%M} UTC")


def read_own(path: str) -> "Certificate | None":
    """None for what OpenSSL took and this cannot read. Blocks."""
    # Loaded here: a process without certificates has no use for a library that takes a tenth of its start.
    from app.pki.certificate_file import CertificateFileError, read_certificate

    try:
        with open(path, "rb") as file:
            return read_certificate(file.read())
    except (OSError, CertificateFileError):
        return None

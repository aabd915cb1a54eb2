"""What a certificate in PEM says, whoever signed it."""

from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from app.pki.pki_error import PkiError

CERTIFICATES_MAX = 1_000
"""In one file: the authorities that a machine trusts are some 150."""
_UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What the library raises for bytes that are no certificate, or none that it can read. They have nothing in common."""
_BEGIN = b"-----BEGIN CERTIFICATE-----"


class CertificateFileError(PkiError):
    """It holds no certificate that can be read."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """Times in milliseconds since 1970. `identities` are the URIs among its subjectAltNames (`acklog://node/0`),
    `hosts` the DNS names and the addresses, in their order."""

    subject: str
    issuer: str
    serial: int
    identities: tuple[str, ...]
    hosts: tuple[str, ...]
    not_before_ms: int
    not_after_ms: int
    pem: bytes


def read_certificate(pem: bytes) -> Certificate:
    """The first certificate of a file, which is the holder's own; those of authorities may follow. Raises
    CertificateFileError."""
    return certificate_of(read_x509(pem)[0])


def read_x509(pem: bytes) -> list[x509.Certificate]:
    """All certificates of a file, at least one. Raises CertificateFileError."""
    count = pem.count(_BEGIN)
    if not count:
        what = "a private key" if b"PRIVATE KEY-----" in pem else "something else"
        raise CertificateFileError(f"it holds no certificate in PEM, but {what if pem.strip() else 'nothing'}")
    if count > CERTIFICATES_MAX:
        raise CertificateFileError(f"it holds {count} certificates, more than {CERTIFICATES_MAX}")
    try:
        return x509.load_pem_x509_certificates(pem)
    except _UNREADABLE as error:
        raise CertificateFileError(f"its certificate is damaged: {error}") from None


def certificate_of(found: x509.Certificate) -> Certificate:
    """Raises CertificateFileError for one whose fields break their format."""
    try:
        names = _alternative_names(found)
        return Certificate(
            subject=name_text(found.subject),
            issuer=name_text(found.issuer),
            serial=found.serial_number,
            identities=tuple(names.get_values_for_type(x509.UniformResourceIdentifier)),
            hosts=tuple(str(each.value) for each in names if isinstance(each, x509.DNSName | x509.IPAddress)),
            not_before_ms=round(found.not_valid_before_utc.timestamp() * 1000),
            not_after_ms=round(found.not_valid_after_utc.timestamp() * 1000),
            pem=found.public_bytes(Encoding.PEM),
        )
    except _UNREADABLE as error:
        raise CertificateFileError(f"its certificate cannot be read: {error}") from None


def name_text(name: x509.Name) -> str:
    """The common name; of a certificate without one, the whole name."""
    for attribute in name.get_attributes_for_oid(NameOID.COMMON_NAME):
        return str(attribute.value)
    return name.rfc4514_string() or "(no name)"


def _alternative_names(found: x509.Certificate) -> x509.SubjectAlternativeName:
    try:
        return found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return x509.SubjectAlternativeName([])

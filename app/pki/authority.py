"""A certificate authority of one's own: its certificate and the key by which it signs others.

Its common name ends with a part of its serial number: two authorities that follow each other have different names, so
that whoever builds a chain finds the right one, and `acklog pki show` says which one has signed what.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID

from app.pki.certificate_file import name_text
from app.pki.pki_error import PkiError
from app.pki.private_key import is_key_of

NAME_DEFAULT = "Acklog private CA"
NAME_LENGTH_MAX = 50
"""With the part of the serial number the common name stays within the 64 characters that X.509 gives it."""
AUTHORITY_DAYS_MAX = 36_500
SERIAL_BITS = 128
BACKDATED = timedelta(minutes=5)
"""Clocks differ: what is signed now is valid on a machine that is this much behind."""


@dataclass(frozen=True, slots=True)
class Authority:
    """`certificate` and `key` belong together."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def __post_init__(self) -> None:
        if not is_key_of(self.key, self.certificate):
            raise PkiError(f"the key is not that of the authority {self.name!r}")

    @property
    def name(self) -> str:
        return name_text(self.certificate.subject)

    def has_signed(self, certificate: x509.Certificate) -> bool:
        return has_signed(self.certificate, certificate)


def has_signed(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    """By its name and its signature."""
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # cryptography raises its own InvalidSignature, ValueError and TypeError: all mean no
        return False
    return True


def new_authority(name: str, *, key: ec.EllipticCurvePrivateKey, random_bits: int, now_ms: int, days: int) -> Authority:
    """An authority that signs itself, and no other authorities. `random_bits` are 128 of them. Raises PkiError."""
    if not name.isascii() or not name.isprintable() or not name.strip() or len(name) > NAME_LENGTH_MAX:
        raise PkiError(f"{name!r} is no name of up to {NAME_LENGTH_MAX} printable ASCII characters", field="--name")
    check_days(days, days_max=AUTHORITY_DAYS_MAX)
    serial = serial_of(random_bits)
    own_name = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, name),
            x509.NameAttribute(NameOID.COMMON_NAME, f"{name} {serial & 0xFFFFFFFF:08x}"),
        ]
    )
    begins = moment(now_ms)
    builder = (
        x509.CertificateBuilder()
        .subject_name(own_name)
        .issuer_name(own_name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(begins - BACKDATED)
        .not_valid_after(begins + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    return Authority(builder.sign(key, SHA256()), key)


def base_name(certificate: x509.Certificate) -> str:
    """The name that an authority was made with, for its successor."""
    for attribute in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME):
        return str(attribute.value)
    return NAME_DEFAULT


def serial_of(random_bits: int) -> int:
    """A bit above them all: never 0, and 128 random bits whatever they are."""
    return 1 << SERIAL_BITS | random_bits & ((1 << SERIAL_BITS) - 1)


def moment(time_ms: int) -> datetime:
    """Certificates know whole seconds."""
    return datetime.fromtimestamp(time_ms // 1000, tz=UTC)


def check_days(days: int, *, days_max: int) -> None:
    """Raises PkiError."""
    if not 1 <= days <= days_max:
        raise PkiError(f"{days} days are not 1 to {days_max}", field="--days")


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Keys of elliptic curves sign: an authority's certificates, all others' handshakes."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )

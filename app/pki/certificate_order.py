"""What a certificate is to say, and the certificate that says it, signed by an authority."""

import ipaddress
from dataclasses import dataclass
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from app.pki.authority import BACKDATED, Authority, check_days, key_usage, moment, serial_of
from app.pki.certificate_subject import CertificateSubject
from app.pki.host import is_address
from app.pki.pki_error import PkiError

CERTIFICATE_DAYS_MAX = 3_650


@dataclass(frozen=True, slots=True)
class CertificateOrder:
    """`hosts` as `checked_hosts` gives them: who calls the holder finds it under one of them."""

    subject: CertificateSubject
    hosts: tuple[str, ...]
    days: int

    def __post_init__(self) -> None:
        check_days(self.days, days_max=CERTIFICATE_DAYS_MAX)
        if self.subject.serves and not self.hosts:
            hint = "Give each name and address under which it is called: --host HOST."
            raise PkiError(f"{self.subject.file_stem} needs a host", field="--host", hint=hint)
        if self.hosts and not self.subject.serves:
            raise PkiError("a client is called by nobody, so it has no host", field="--host")

    def check_end(self, authority: Authority, *, now_ms: int) -> None:
        """A certificate is worth nothing without its authority. Raises PkiError."""
        ends, latest = moment(now_ms) + timedelta(days=self.days), authority.certificate.not_valid_after_utc
        if latest <= moment(now_ms):
            hint = "Make a new one: acklog pki rotate-ca."
            raise PkiError(f"the authority {authority.name!r} ended at {latest:%Y-%m-%d %H:%M} UTC", hint=hint)
        if ends > latest:
            days = (latest - moment(now_ms)).days
            hint = f"Give up to {days} days, or make a new authority: acklog pki rotate-ca."
            what = f"the authority {authority.name!r} ends on {latest:%Y-%m-%d}, before {self.subject.file_stem} would"
            raise PkiError(what, field="--days", hint=hint)


def issue(
    order: CertificateOrder,
    authority: Authority,
    *,
    key: ec.EllipticCurvePrivateKey,
    random_bits: int,
    now_ms: int,
) -> x509.Certificate:
    """`key` is the holder's, `random_bits` are 128 of them. Raises PkiError where the authority would end first."""
    order.check_end(authority, now_ms=now_ms)
    begins = moment(now_ms)
    signer = authority.certificate
    known_by = signer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, order.subject.file_stem)]))
        .issuer_name(signer.subject)
        .public_key(key.public_key())
        .serial_number(serial_of(random_bits))
        .not_valid_before(begins - BACKDATED)
        .not_valid_after(begins + timedelta(days=order.days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_purposes(order.subject)), critical=False)
        .add_extension(x509.SubjectAlternativeName(_names(order)), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known_by), critical=False)
        .sign(authority.key, SHA256())
    )


def _purposes(subject: CertificateSubject) -> list[x509.ObjectIdentifier]:
    """All call somebody: a server of one process is asked for its health by itself."""
    calls = [ExtendedKeyUsageOID.CLIENT_AUTH]
    return [ExtendedKeyUsageOID.SERVER_AUTH, *calls] if subject.serves else calls


def _names(order: CertificateOrder) -> list[x509.GeneralName]:
    hosts: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(each)) if is_address(each) else x509.DNSName(each) for each in order.hosts
    ]
    return [x509.UniformResourceIdentifier(order.subject.uri), *hosts]

"""Certificates made anew: for the same holder and hosts, with new keys. All are ordered before one is written."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cryptography import x509

from acklog.wire.certificate_end import DAY_MS
from app.commands.pki_directory import PkiDirectory
from app.commands.pki_session import random_bits
from app.pki.authority import Authority
from app.pki.certificate_file import Certificate, certificate_of
from app.pki.certificate_order import CertificateOrder, issue
from app.pki.certificate_subject import CertificateSubject
from app.pki.host import checked_hosts
from app.pki.pki_error import PkiError
from app.pki.private_key import new_private_key

Renewed = tuple[CertificateSubject, x509.Certificate]


@dataclass(frozen=True, slots=True)
class Renewal:
    """Each is told when it is written, as the next one may fail. `days` None: as long as before."""

    pki: PkiDirectory
    now_ms: int
    days: int | None = None

    def of_those_that_end_within(self, days: int) -> Iterator[Renewed]:
        """Also of those whose key is not theirs: a renewal was interrupted. Raises PkiError."""
        latest_ms = self.now_ms + days * DAY_MS
        due = [
            each
            for each in self.pki.subjects()
            if self._found(each).not_after_ms <= latest_ms or not self.pki.has_key_of(each)
        ]
        yield from self._renewed(due, self.pki.trust().signer())

    def of_all(self) -> Iterator[Renewed]:
        """By the newest authority, which signs alone from then on. Raises PkiError."""
        trust = self.pki.trust()
        yield from self._renewed(self.pki.subjects(), trust.newest())
        if trust.is_rotating:
            self.pki.let_next_sign()

    def _renewed(self, subjects: Sequence[CertificateSubject], authority: Authority) -> Iterator[Renewed]:
        orders = [self._order(each) for each in subjects]
        for order in orders:
            order.check_end(authority, now_ms=self.now_ms)
        for order in orders:
            yield order.subject, self._made(order, authority)

    def _made(self, order: CertificateOrder, authority: Authority) -> x509.Certificate:
        key = new_private_key()
        made = issue(order, authority, key=key, random_bits=random_bits(), now_ms=self.now_ms)
        self.pki.write(order.subject, made, key)
        return made

    def _order(self, subject: CertificateSubject) -> CertificateOrder:
        found = self._found(subject)
        if found.identities != (subject.uri,):
            said = ", ".join(found.identities) or "nobody"
            hint = "Another certificate was put there: issue it anew under the name of its holder."
            raise PkiError(f"{subject.file_stem}.pem is of {said}, not of {subject.uri}", hint=hint)
        before = max(1, (found.not_after_ms - found.not_before_ms) // DAY_MS)
        return CertificateOrder(subject, checked_hosts(list(found.hosts)), before if self.days is None else self.days)

    def _found(self, subject: CertificateSubject) -> Certificate:
        return certificate_of(self.pki.certificate(subject))

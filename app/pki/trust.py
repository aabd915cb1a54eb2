"""Whom the holders of `ca.pem` trust, and how one authority follows another without a moment in which they do not.

1. A successor is made: `ca.pem` has both, the newest first. Its key waits; the old one goes on signing, so that nobody
   gets a certificate that those who have the old `ca.pem` refuse.
2. All certificates are signed anew by the successor, which from then on signs alone.
3. The old one leaves `ca.pem`, once nothing is signed by it.
"""

from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from app.pki.authority import Authority, has_signed
from app.pki.certificate_file import name_text
from app.pki.pki_error import PkiError
from app.pki.private_key import is_key_of


@dataclass(frozen=True, slots=True)
class Trust:
    """`authorities` are the certificates of `ca.pem`, the newest first. `next_key` is the successor's while it has
    signed nothing."""

    authorities: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey
    next_key: ec.EllipticCurvePrivateKey | None = None

    def signer(self) -> Authority:
        """Who signs what is issued now. Raises PkiError."""
        return self._authority_of(self.key, "ca-key.pem")

    def newest(self) -> Authority:
        """Who signs when everything is renewed. Raises PkiError."""
        if self.is_rotating and self.next_key is not None:
            return self._authority_of(self.next_key, "ca-next-key.pem")
        return self.signer()

    @property
    def is_rotating(self) -> bool:
        """There is a successor. (A key alone is what an interrupted `rotate-ca` left; it has signed nothing.)"""
        return len(self.authorities) > 1

    def name_of_signer(self, certificate: x509.Certificate) -> str:
        """Which authority of `ca.pem` has signed it; "" for none."""
        for each in self.authorities:
            if has_signed(each, certificate):
                return name_text(each.subject)
        return ""

    def check_start(self) -> None:
        """Raises PkiError where a successor is there already."""
        if self.is_rotating:
            hint = "Go on with it: acklog pki renew --all, then acklog pki rotate-ca --finish."
            raise PkiError("a rotation is under way: ca.pem holds two authorities", hint=hint)

    def check_finish(self, certificates: dict[str, x509.Certificate]) -> None:
        """`certificates` by the names of their files. Raises PkiError while one is not signed by the newest."""
        if not self.is_rotating:
            hint = "Begin one: acklog pki rotate-ca."
            raise PkiError("no rotation is under way: ca.pem holds one authority", hint=hint)
        newest = self.newest()
        others = sorted(name for name, each in certificates.items() if not newest.has_signed(each))
        if others:
            hint = "Renew them, and let all who use them have them: acklog pki renew --all."
            raise PkiError(f"not signed by the new authority yet: {', '.join(others)}", hint=hint)

    def _authority_of(self, key: ec.EllipticCurvePrivateKey, name: str) -> Authority:
        for each in self.authorities:
            if is_key_of(key, each):
                return Authority(each, key)
        hint = "Take both files from the same backup."
        raise PkiError(f"the key in {name} belongs to no certificate in ca.pem", hint=hint)

"""What is to be said of a certificate that ends at a time: one rule for the server's metric and log and for a doctor.

Without I/O: times come in, in milliseconds since 1970.
"""

from enum import Enum

DAY_MS = 86_400_000
WARN_DAYS = 14
"""Two weeks are enough for a person to see a warning and to act, and below the 30 days before which `acklog pki renew`
and cert-manager have renewed: where it is reached, something that should have renewed did not."""


class CertificateEnd(Enum):
    """`FAR`: nothing is to be said. `NEAR`: renew it. `PAST`: nobody accepts it any more."""

    FAR = "far"
    NEAR = "near"
    PAST = "past"


def end_of(not_after_ms: int, *, now_ms: int) -> CertificateEnd:
    """The certificate's last millisecond counts as valid."""
    if now_ms > not_after_ms:
        return CertificateEnd.PAST
    if not_after_ms - now_ms < WARN_DAYS * DAY_MS:
        return CertificateEnd.NEAR
    return CertificateEnd.FAR


def days_left(not_after_ms: int, *, now_ms: int) -> int:
    """Whole days that are left, negative after the end: -1 is within the first day after it."""
    return (not_after_ms - now_ms) // DAY_MS

"""What a doctor says of a server's certificate."""

from typing import TYPE_CHECKING

from acklog.command.checkup import Check, fail, names_text, ok, warn
from acklog.command.quantities import count_text
from acklog.wire.certificate_end import CertificateEnd, days_left, end_of

if TYPE_CHECKING:
    from acklog.command.server_certificate import ServerCertificate

FAIL_DAYS = 3
"""A weekend in which nobody looks."""
_ADVICE = "Renew it: acklog pki renew, or whoever has signed it; what should have renewed it has not."


def certificate_check(found: "ServerCertificate", *, now_ms: int) -> Check:
    """By this machine's clock."""
    days = days_left(found.not_after_ms, now_ms=now_ms)
    left = f"{count_text(days, 'day')} left" if days >= 0 else "it has ended"
    finding = f"signed by {found.issuer}, for {names_text(list(found.names)) or 'no name'}; {left}"
    if days < FAIL_DAYS:
        return fail("certificate", finding, _ADVICE)
    if end_of(found.not_after_ms, now_ms=now_ms) is not CertificateEnd.FAR:
        return warn("certificate", finding, _ADVICE)
    return ok("certificate", finding)

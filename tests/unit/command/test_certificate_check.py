"""What the doctor makes of a server's certificate."""

import pytest

from acklog.command.certificate_check import certificate_check
from acklog.command.checkup import CheckOutcome
from acklog.command.server_certificate import ServerCertificate
from acklog.wire.certificate_end import DAY_MS


@pytest.mark.parametrize(
    ("left_ms", "outcome", "says"),
    [
        (90 * DAY_MS, CheckOutcome.OK, "90 days left"),
        (14 * DAY_MS, CheckOutcome.OK, "14 days left"),
        (14 * DAY_MS - 1, CheckOutcome.WARN, "13 days left"),
        (3 * DAY_MS, CheckOutcome.WARN, "3 days left"),
        (3 * DAY_MS - 1, CheckOutcome.FAIL, "2 days left"),
        (1, CheckOutcome.FAIL, "0 days left"),
        (-1, CheckOutcome.FAIL, "it has ended"),
    ],
)
def test_a_certificate_is_told_before_it_ends(left_ms: int, outcome: CheckOutcome, says: str) -> None:
    shown = ServerCertificate("Shop CA", ("localhost", "::1"), 1_800_000_000_000)
    check = certificate_check(shown, now_ms=shown.not_after_ms - left_ms)
    assert (check.outcome, check.finding) == (outcome, f"signed by Shop CA, for localhost, ::1; {says}")
    assert bool(check.advice) is (outcome is not CheckOutcome.OK)

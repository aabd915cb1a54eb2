import pytest

from acklog.wire.certificate_end import DAY_MS, WARN_DAYS, CertificateEnd, days_left, end_of

ENDS_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    ("left_ms", "end", "days"),
    [
        (90 * DAY_MS, CertificateEnd.FAR, 90),
        (WARN_DAYS * DAY_MS, CertificateEnd.FAR, 14),
        (WARN_DAYS * DAY_MS - 1, CertificateEnd.NEAR, 13),
        (1, CertificateEnd.NEAR, 0),
        (0, CertificateEnd.NEAR, 0),
        (-1, CertificateEnd.PAST, -1),
        (-DAY_MS - 1, CertificateEnd.PAST, -2),
    ],
)
def test_what_is_to_be_said(left_ms: int, end: CertificateEnd, days: int) -> None:
    now_ms = ENDS_MS - left_ms
    assert end_of(ENDS_MS, now_ms=now_ms) is end
    assert days_left(ENDS_MS, now_ms=now_ms) == days

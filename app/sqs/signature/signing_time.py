"""When something was signed, and whether that is good now."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import NamedTuple

from app.sqs.sqs_error import SqsError, SqsErrorCode

CLOCK_SKEW_MS = 15 * 60_000
"""By how much a client's clock may differ, and for how long a signature in a header is good."""

REMEMBERED_MAX = 100
"""Many requests are of one second."""

_BASIC = re.compile(r"\A[0-9]{8}T[0-9]{6}Z\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SigningTime(NamedTuple):
    """`text` is `20150830T123600Z`, as it is signed."""

    text: str
    ms: int

    @property
    def date(self) -> str:
        """As it stands in the scope of a credential."""
        return self.text[:8]

    @classmethod
    @lru_cache(maxsize=REMEMBERED_MAX)
    def parsed(cls, text: str) -> "SigningTime | None":
        """None where it is no such time."""
        if _BASIC.match(text) is None:
            return None
        try:
            moment = datetime(
                int(text[:4]), int(text[4:6]), int(text[6:8]), int(text[9:11]), int(text[11:13]), int(text[13:15])
            )
        except ValueError:
            return None
        return cls(text, _ms_of(moment.replace(tzinfo=UTC)))

    @classmethod
    def of_date_header(cls, text: str) -> "SigningTime | None":
        """Of `Date`, which is a time as HTTP writes it; None where it is none, or none in UTC."""
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        if moment.utcoffset():
            return None
        return cls.parsed(moment.strftime("%Y%m%dT%H%M%SZ"))

    def check(self, now_ms: int, *, good_for_ms: int) -> None:
        """Raises SqsError SIGNATURE_DOES_NOT_MATCH: clients know by its words that their clock is wrong."""
        if self.ms > now_ms + CLOCK_SKEW_MS:
            said = f"Signature not yet current: {self.text} is still later than"
            raise _error(f"{said} {_text_of(now_ms + CLOCK_SKEW_MS)} ({_text_of(now_ms)} + 15 min.)")
        if self.ms < now_ms - good_for_ms:
            said = f"Signature expired: {self.text} is now earlier than {_text_of(now_ms - good_for_ms)}"
            raise _error(f"{said} ({_text_of(now_ms)} - {_lasting_text(good_for_ms)})")


def _lasting_text(duration_ms: int) -> str:
    seconds = duration_ms // 1000
    return f"{seconds} sec." if seconds % 60 else f"{seconds // 60} min."


def _ms_of(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _text_of(moment_ms: int) -> str:
    return (_EPOCH + timedelta(milliseconds=moment_ms)).strftime("%Y%m%dT%H%M%SZ")


def _error(message: str) -> SqsError:
    return SqsError(SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, message)

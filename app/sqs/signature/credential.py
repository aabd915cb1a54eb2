"""Whose key signed something, and for what: `AKIDEXAMPLE/20150830/us-east-1/sqs/aws4_request`."""

import re
from dataclasses import dataclass
from functools import lru_cache

from app.sqs.signature.signing_time import SigningTime
from app.sqs.sqs_error import SqsError, SqsErrorCode

REMEMBERED_MAX = 100
"""Clients say the same with each request of a day."""
SERVICE, TERMINATOR = "sqs", "aws4_request"

_REGION = re.compile(r"\A[A-Za-z0-9_-]{1,64}\Z")
_SHOWN_MAX = 100  # characters of what is wrong


@dataclass(frozen=True, slots=True)
class Credential:
    key_id: str
    date: str
    region: str
    service: str
    terminator: str

    @classmethod
    @lru_cache(maxsize=REMEMBERED_MAX)
    def parsed(cls, text: str) -> "Credential":
        """Raises SqsError INCOMPLETE_SIGNATURE."""
        parts = text.split("/")
        if len(parts) != 5:
            said = "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term"
            raise SqsError(SqsErrorCode.INCOMPLETE_SIGNATURE, f"{said}, got {len(parts)}")
        return cls(*parts)

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/{self.terminator}"

    def check(self, time: SigningTime) -> None:
        """Raises SqsError SIGNATURE_DOES_NOT_MATCH. Any region will do: it is signed, and an endpoint has none here, so
        that whoever comes from AWS keeps theirs."""
        if _REGION.match(self.region) is None:
            raise _error(f"Credential should be scoped to a valid region, not '{self.region[:_SHOWN_MAX]}'. ")
        if self.service != SERVICE:
            raise _error(f"Credential should be scoped to correct service: '{SERVICE}'. ")
        if self.terminator != TERMINATOR:
            raise _error(f"Credential should be scoped with a valid terminator: '{TERMINATOR}'. ")
        if self.date != time.date:
            said = "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP"
            raise _error(f"{said}: '{self.date[:_SHOWN_MAX]}' != '{time.date}', from '{time.text}'.")


def _error(message: str) -> SqsError:
    return SqsError(SqsErrorCode.SIGNATURE_DOES_NOT_MATCH, message)

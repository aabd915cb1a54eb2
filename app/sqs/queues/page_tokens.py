"""Where the next page of names begins, as clients hand it back."""

import base64
import binascii
from collections.abc import Iterable
from itertools import islice

from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.sqs_queue import is_queue_name

PAGE_MAX = 1_000
TOKEN_LENGTH_MAX = 256


def check_page_limit(limit: int) -> None:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if not 1 <= limit <= PAGE_MAX:
        detail = f"Value {limit} for parameter MaxResults is invalid. Reason: Must be between 1 and {PAGE_MAX}."
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


def token_of(last_name: str) -> str:
    return base64.urlsafe_b64encode(last_name.encode()).decode()


def name_of_token(token: str) -> str:
    """The last name of the page before; "" for the first page. Raises SqsError INVALID_PARAMETER_VALUE."""
    if not token:
        return ""
    try:
        name = base64.b64decode(token, altchars=b"-_", validate=True).decode() if len(token) <= TOKEN_LENGTH_MAX else ""
    except (binascii.Error, ValueError):
        name = ""
    if not is_queue_name(name):
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, "Invalid or expired next token.")
    return name


def page_of(names: Iterable[str], limit: int, token: str) -> tuple[list[str], str | None]:
    """Of names in order."""
    after = name_of_token(token)
    found = list(islice((each for each in names if each > after), limit + 1))
    return (found, None) if len(found) <= limit else (found[:limit], token_of(found[limit - 1]))

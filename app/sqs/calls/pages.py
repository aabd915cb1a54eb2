"""Lists of queues a page at a time."""

import base64
import binascii

from app.sqs.sqs_error import SqsError, SqsErrorCode

PAGE_MAX = 1_000
TOKEN_LENGTH_MAX = 1_024


def page_limit(asked: int | None, *, most: int = PAGE_MAX, default: int = PAGE_MAX) -> int:
    """Raises SqsError INVALID_PARAMETER_VALUE."""
    if asked is None:
        return default
    if not 1 <= asked <= most:
        detail = f"Value {asked} for parameter MaxResults is invalid. Reason: Must be between 1 and {most}."
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
    return asked


def token_of(name: str | None) -> str | None:
    """The next page begins behind that name; None: there is none."""
    return None if name is None else base64.urlsafe_b64encode(name.encode()).decode()


def name_of_token(token: str | None) -> str:
    """ "" where a list begins. Raises SqsError INVALID_PARAMETER_VALUE."""
    if not token:
        return ""
    try:
        if len(token) <= TOKEN_LENGTH_MAX:
            return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        pass
    raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, "Invalid or expired next token.")

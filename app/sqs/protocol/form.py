"""Forms (application/x-www-form-urlencoded), as the query protocol has its parameters in: unpacked little by little.

A body of megabytes that is escaped throughout takes longer than anybody else should have to wait for the event loop.
"""

from collections.abc import Generator
from urllib.parse import unquote_to_bytes

from app.http.exchange.turns import Steps
from app.sqs.sqs_error import SqsError, SqsErrorCode

PARAMETERS_MAX = 10_000
"""Ten messages of ten attributes have some four hundred."""
STEP_BYTES = 64 * 1024
STEP_FIELDS = 1_000

Fields = dict[str, str]


def form_steps(*forms: bytes) -> Steps[Fields]:
    """The parameters of all forms; of several of one name the last one. Raises SqsError SERIALIZATION,
    INVALID_PARAMETER_VALUE."""
    fields: Fields = {}
    count = 0
    for form in forms:
        place = 0
        while place < len(form):
            end = form.find(b"&", place)
            end = len(form) if end < 0 else end
            if end > place:
                count += 1
                _check_count(count)
                name, _, value = form[place:end].partition(b"=")
                key = yield from _text_steps(name)
                fields[key] = yield from _text_steps(value)
                if count % STEP_FIELDS == 0:
                    yield
            place = end + 1
    return fields


def _check_count(count: int) -> None:
    if count > PARAMETERS_MAX:
        detail = f"The request has more than {PARAMETERS_MAX} parameters."
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


def _text_steps(packed: bytes) -> Generator[None, None, str]:
    """Raises SqsError SERIALIZATION."""
    parts: list[bytes] = []
    place = 0
    while place < len(packed):
        end = min(len(packed), place + STEP_BYTES)
        if end < len(packed):
            # An escape of three bytes is not cut through.
            escape = packed.rfind(b"%", end - 2, end)
            end = escape if escape > place else end
        parts.append(unquote_to_bytes(packed[place:end].replace(b"+", b" ")))
        place = end
        if place < len(packed):
            yield
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError:
        raise SqsError(SqsErrorCode.SERIALIZATION, "The request's parameters are not UTF-8.") from None

"""What is wrong with a call's input, in SQS's words: types and required members; what they mean is judged later."""

import re

import msgspec

from app.sqs.sqs_error import SqsError, SqsErrorCode

_MISSING = re.compile(r"Object missing required field `(?P<member>\w+)`(?: - at `\$\.?(?P<place>[^`]*)`)?")
_NULL = re.compile(r"Expected `[^`]*`, got `null` - at `\$\.?(?P<place>[^`]*)`")
_NUMBERS = re.compile(r"\[(\d+)\]")


def missing(member: str) -> SqsError:
    return SqsError(SqsErrorCode.MISSING_PARAMETER, f"The request must contain the parameter {member}.")


def input_fault(error: Exception) -> SqsError:
    """Of what msgspec says of JSON, or of what stands for JSON. Members that are null are as good as missing."""
    text = str(error)
    if isinstance(error, msgspec.ValidationError):
        found = _MISSING.fullmatch(text)
        if found is not None:
            return missing(".".join(filter(None, (_counted(found["place"] or ""), found["member"]))))
        found = _NULL.fullmatch(text)
        if found is not None and found["place"]:
            return missing(_counted(found["place"]))
    if isinstance(error, RecursionError):
        text = "the request is nested too deeply"
    return SqsError(SqsErrorCode.SERIALIZATION, f"The request cannot be read: {text}")


def _counted(place: str) -> str:
    """`Entries[0].Id` is what SQS calls Entries.1.Id."""
    return _NUMBERS.sub(lambda number: f".{int(number[1]) + 1}", place.replace("[...]", ""))

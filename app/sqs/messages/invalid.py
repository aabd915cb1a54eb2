"""What is wrong with a message, in the words of SQS: clients look at them."""

from app.sqs.sqs_error import SqsError, SqsErrorCode

SHOWN_MAX = 200
"""Characters of a caller's own text in an error."""
_OTHER_KIND = "The request include parameter that is not valid for this queue type."


def invalid(message: str) -> SqsError:
    return SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, message)


def invalid_value(value: object, parameter: str, reason: str) -> SqsError:
    return invalid(f"Value {shown(value)} for parameter {parameter} is invalid. Reason: {reason}")


def not_for_this_kind(value: object, parameter: str) -> SqsError:
    """Of queue: standard or FIFO."""
    return invalid_value(value, parameter, _OTHER_KIND)


def missing(parameter: str) -> SqsError:
    return SqsError(SqsErrorCode.MISSING_PARAMETER, f"The request must contain the parameter {parameter}.")


def shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"

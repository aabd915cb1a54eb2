"""What SQS refuses in the attributes of a message. All raise SqsError."""

import re
from collections.abc import Mapping
from decimal import Decimal

from app.sqs.messages.invalid import invalid, shown
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.sqs_text import text_fault

ATTRIBUTES_MAX = 10
NAME_LENGTH_MAX = 256
TYPE_LENGTH_MAX = 256
NUMBER_DIGITS_MAX = 38
NUMBER_EXPONENT_MIN, NUMBER_EXPONENT_MAX = -128, 126
TRACE_HEADER = "AWSTraceHeader"
TRACE_HEADER_BYTES_MAX = 4096

_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_LENGTH_MAX}}}")
_TYPE = re.compile(r"(?:String|Number|Binary)(?:\.[A-Za-z0-9_.-]+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")


def check_attributes(attributes: Mapping[str, MessageAttribute]) -> None:
    if len(attributes) > ATTRIBUTES_MAX:
        raise invalid(
            f"Number of message attributes [{len(attributes)}] exceeds the allowed maximum [{ATTRIBUTES_MAX}]."
        )
    for name, attribute in attributes.items():
        check_name(name)
        check_value(name, attribute)


def check_name(name: str) -> None:
    """Of an attribute. Raises SqsError."""
    if not name:
        raise invalid("The message attribute name can not be empty.")
    if len(name) > NAME_LENGTH_MAX:
        raise invalid(f"Message (user) attribute name {shown(name)!r} must be shorter than {NAME_LENGTH_MAX} Bytes.")
    if name.lower().startswith(("aws.", "amazon.")):
        raise invalid(f"Message (user) attribute names should not start with 'AWS.' or 'Amazon.': '{shown(name)}'.")
    if not _NAME.fullmatch(name):
        detail = "Attribute name can contain A-Z, a-z, 0-9, underscore (_), hyphen (-), and period (.)"
        raise invalid(f"Invalid attribute name '{shown(name)}'. {detail}.")
    if name.startswith(".") or name.endswith(".") or ".." in name:
        detail = "must not begin or end with a period, or have periods in succession"
        raise invalid(f"Invalid attribute name '{shown(name)}': it {detail}.")


def check_value(name: str, attribute: MessageAttribute) -> None:
    """Its type, and that its value is one of it. Raises SqsError."""
    data_type = attribute.data_type
    if not data_type:
        raise invalid(f"The message attribute '{name}' must contain non-empty message attribute type.")
    if not _TYPE.fullmatch(data_type) or len(data_type) > TYPE_LENGTH_MAX:
        detail = "the set of supported type prefixes is Binary, Number, and String"
        raise invalid(f"The message attribute '{name}' has an invalid message attribute type, {detail}.")
    value, other = attribute.string_value, attribute.binary_value
    if attribute.is_binary:
        value, other = other, value  # type: ignore[assignment]
    kind = data_type.partition(".")[0]
    if not value:
        detail = f"must contain non-empty message attribute value for message attribute type '{kind}'"
        raise invalid(f"The message attribute '{name}' {detail}.")
    if other:
        raise invalid(f"The message attribute '{name}' must contain one value, of its message attribute type '{kind}'.")
    if attribute.string_value is not None:
        fault = text_fault(attribute.string_value, f"message attribute '{name}'")
        if fault is not None:
            raise invalid(fault)
        if kind == "Number" and not is_number(attribute.string_value):
            raise invalid(f"Can't cast the value of message (user) attribute '{name}' to a number.")


def is_number(text: str) -> bool:
    """Of so many digits, and neither too large nor too small."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    digits = found[1].replace(".", "").strip("0")
    if not digits:
        return True
    exponent = Decimal(text).adjusted()
    is_near = NUMBER_EXPONENT_MIN <= exponent < NUMBER_EXPONENT_MAX
    is_largest = exponent == NUMBER_EXPONENT_MAX and digits == "1"
    return len(digits) <= NUMBER_DIGITS_MAX and (is_near or is_largest)


def check_system_attributes(attributes: Mapping[str, MessageAttribute]) -> None:
    """There is one that a sender may give: the trace of X-Ray."""
    for name, attribute in attributes.items():
        if name != TRACE_HEADER:
            raise invalid(f"Message system attribute name '{shown(name)}' is invalid: it may be {TRACE_HEADER}.")
        if attribute.data_type != "String":
            raise invalid(f"The message system attribute '{name}' must have the type String.")
        check_value(name, attribute)
        if len((attribute.string_value or "").encode()) > TRACE_HEADER_BYTES_MAX:
            raise invalid(f"The message system attribute '{name}' must not exceed {TRACE_HEADER_BYTES_MAX} bytes.")

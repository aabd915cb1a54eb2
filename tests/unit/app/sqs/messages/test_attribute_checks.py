"""What SQS refuses in attributes, and how it says so."""

import pytest

from app.sqs.messages.attribute_checks import (
    ATTRIBUTES_MAX,
    NAME_LENGTH_MAX,
    TRACE_HEADER,
    TRACE_HEADER_BYTES_MAX,
    TYPE_LENGTH_MAX,
    check_attributes,
    check_system_attributes,
    is_number,
)
from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.sqs_error import SqsError, SqsErrorCode


def text(value: str | None = "x", data_type: str = "String") -> MessageAttribute:
    return MessageAttribute(data_type=data_type, string_value=value)


def data(value: bytes | None, data_type: str = "Binary") -> MessageAttribute:
    return MessageAttribute(data_type=data_type, binary_value=value)


def fault_of(attributes: dict[str, MessageAttribute]) -> str:
    with pytest.raises(SqsError) as caught:
        check_attributes(attributes)
    assert caught.value.code is SqsErrorCode.INVALID_PARAMETER_VALUE
    return caught.value.message


@pytest.mark.parametrize("name", ["a", "A_b-c.9", "x" * NAME_LENGTH_MAX, "sqs.mine", "traceparent", "Aws", "awsome.x"])
def test_names_that_are_taken(name: str) -> None:
    check_attributes({name: text()})


@pytest.mark.parametrize(
    "name", ["", ".a", "a.", "a..b", "a b", "ä", "a/b", "AWS.x", "aws.x", "Amazon.x", "x" * (NAME_LENGTH_MAX + 1)]
)
def test_names_that_are_not(name: str) -> None:
    assert "attribute name" in fault_of({name: text()})


def test_how_many() -> None:
    check_attributes({f"a{number}": text() for number in range(ATTRIBUTES_MAX)})
    told = fault_of({f"a{number}": text() for number in range(ATTRIBUTES_MAX + 1)})
    assert told == "Number of message attributes [11] exceeds the allowed maximum [10]."


@pytest.mark.parametrize("data_type", ["String", "String.label", "Number.int", "Number.a.b", "String." + "x" * 249])
def test_types_that_are_taken(data_type: str) -> None:
    assert len(data_type) <= TYPE_LENGTH_MAX
    check_attributes({"a": text("1", data_type)})


@pytest.mark.parametrize("data_type", ["string", "Strings", "String.", "Int", "String.ä", "String." + "x" * 250])
def test_types_that_are_not(data_type: str) -> None:
    detail = "has an invalid message attribute type, the set of supported type prefixes is Binary, Number, and String."
    assert fault_of({"a": text("1", data_type)}) == f"The message attribute 'a' {detail}"


@pytest.mark.parametrize(
    ("attribute", "told"),
    [
        (text(""), "must contain non-empty message attribute value for message attribute type 'String'."),
        (text(None), "must contain non-empty message attribute value for message attribute type 'String'."),
        (text("", "Number.x"), "must contain non-empty message attribute value for message attribute type 'Number'."),
        (data(b""), "must contain non-empty message attribute value for message attribute type 'Binary'."),
        (text("x", "Binary"), "must contain non-empty message attribute value for message attribute type 'Binary'."),
        (data(b"x", "String"), "must contain non-empty message attribute value for message attribute type 'String'."),
        (text("x", ""), "must contain non-empty message attribute type."),
        (
            MessageAttribute(data_type="String", string_value="x", binary_value=b"y"),
            "must contain one value, of its message attribute type 'String'.",
        ),
    ],
)
def test_values_that_are_missing(attribute: MessageAttribute, told: str) -> None:
    assert fault_of({"a": attribute}) == f"The message attribute 'a' {told}"


def test_characters_that_are_not_allowed() -> None:
    assert "Invalid binary character '#x1' was found in the message attribute 'a'" in fault_of({"a": text("\x01")})


@pytest.mark.parametrize(
    "number",
    [
        "0",
        "-1",
        "+1.5",
        "1.",
        ".5",
        "1e5",
        "-1.25E-3",
        "0" * 500,
        "9" * 38,
        "0.0001" + "9" * 34,
        "1e126",
        "9.9e125",
        "1e-128",
        "0e9999",
        "000123",
        "1" + "0" * 100,
    ],
)
def test_numbers(number: str) -> None:
    assert is_number(number)
    check_attributes({"a": text(number, "Number")})


@pytest.mark.parametrize(
    "number",
    [
        "",
        " 1",
        "1 ",
        "one",
        "0x1",
        "1,5",
        "NaN",
        "Infinity",
        "1_000",
        "٣",
        "--1",
        ".",
        "e5",
        "1e",
        "1e12345",
        "9" * 39,
        "1.1e126",
        "2e126",
        "1e127",
        "9e-129",
        "1" + "0" * 127,
    ],
)
def test_what_is_no_number(number: str) -> None:
    assert not is_number(number)
    if number:
        told = "Can't cast the value of message (user) attribute 'a' to a number."
        assert fault_of({"a": text(number, "Number")}) == told


def test_system_attributes() -> None:
    check_system_attributes({TRACE_HEADER: text("Root=" + "x" * (TRACE_HEADER_BYTES_MAX - 5))})
    for wrong in (
        {"SenderId": text()},
        {TRACE_HEADER: text("1", "Number")},
        {TRACE_HEADER: text("")},
        {TRACE_HEADER: text("x" * (TRACE_HEADER_BYTES_MAX + 1))},
    ):
        with pytest.raises(SqsError):
            check_system_attributes(wrong)

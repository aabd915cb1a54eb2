"""Which attributes a receive asks for."""

import pytest

from app.sqs.messages.name_filter import SYSTEM_NAMES, attribute_filter, wanted_system_attributes
from app.sqs.sqs_error import SqsError, SqsErrorCode

NAMES = ["a", "ab", "ab.c", "abd", "b"]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([], []),
        (["a"], ["a"]),
        (["A"], []),
        (["All"], NAMES),
        ([".*"], NAMES),
        (["x", "All"], NAMES),
        (["ab.*"], ["ab", "ab.c", "abd"]),
        (["ab.*", "b"], ["ab", "ab.c", "abd", "b"]),
        (["ab*"], []),
    ],
)
def test_by_name(asked: list[str], found: list[str]) -> None:
    assert list(filter(attribute_filter(asked), NAMES)) == found


def test_system_attributes() -> None:
    assert wanted_system_attributes([]) == frozenset()
    assert wanted_system_attributes(["SentTimestamp"]) == {"SentTimestamp"}
    assert wanted_system_attributes(["SentTimestamp", "All"]) == SYSTEM_NAMES
    with pytest.raises(SqsError) as caught:
        wanted_system_attributes(["SentTime"])
    assert (caught.value.code, caught.value.message) == (
        SqsErrorCode.INVALID_ATTRIBUTE_NAME,
        "Unknown Attribute SentTime.",
    )

"""MD5s as clients compute them: vectors that public tests of clients have."""

import pytest

from app.sqs.messages.digests import attributes_md5, body_md5
from app.sqs.messages.message_attribute import MessageAttribute

STORE = {"SellerName": ("String", "Example Store")}
CITY = {"City": ("String", "Any City"), "PostalCode": ("String", "99065"), "Region": ("String", "WA")}


def md5_of(attributes: dict[str, tuple[str, str]]) -> str | None:
    return attributes_md5(
        {name: MessageAttribute(data_type=kind, string_value=text) for name, (kind, text) in attributes.items()}
    )


def test_the_body() -> None:
    assert body_md5("abc") == "900150983cd24fb0d6963f7d28e17f72"
    assert body_md5("This is a test message") == "fafb00f5732ab283681e124bf8747ed1"


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (STORE, "cd28f3b68aeee4b2eac9c66f2f694b58"),
        ({**STORE, **CITY}, "66d793da93becb551e41562575418975"),
        ({**STORE, **CITY, "PricePerGallon": ("Number", "1.99")}, "10809b55e3d9b22c17220b7dbaf283ef"),
    ],
)
def test_attributes(attributes: dict[str, tuple[str, str]], expected: str) -> None:
    assert md5_of(attributes) == md5_of(dict(reversed(attributes.items()))) == expected


def test_bytes_are_told_from_text() -> None:
    text = MessageAttribute(data_type="Binary", string_value="x")
    data = MessageAttribute(data_type="Binary", binary_value=b"x")
    assert attributes_md5({"a": text}) != attributes_md5({"a": data})


def test_none_have_none() -> None:
    assert attributes_md5({}) is None

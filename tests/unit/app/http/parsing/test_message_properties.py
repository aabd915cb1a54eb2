"""Each property of a message is declared once; what has to be written out beside the declarations forgets none."""

import msgspec
import pytest

from app.http.parsing.message import message_of
from app.http.parsing.message_properties import PROPERTIES, MessageFields
from app.http.parsing.properties import Declared
from cluster.errors import ServerError

SOME_VALUE = {"headers": {"a": "b"}, "tags": ["t"], "partition": 1, "timestamp": 1, "delaySeconds": 1, "ttlSeconds": 1}


@pytest.mark.parametrize("declared", PROPERTIES, ids=lambda each: each.name)
def test_only_body_and_key_make_a_plain_message(declared: Declared) -> None:
    text = msgspec.json.encode({"body": 1, declared.name: SOME_VALUE.get(declared.name, "dGV4dA==")})
    fields = msgspec.json.decode(text, type=MessageFields)
    assert (stored_as(fields) is tuple) == (declared.name in {"body", "key"})


def stored_as(fields: MessageFields) -> type:
    try:
        return type(message_of(fields))
    except ServerError as fault:
        return type(fault)


WRONG: dict[str, object] = {
    "contentType": "\n",
    "key": "k" * 1025,
    "partition": -1,
    "headers": {"": "b"},
    "tags": ["t", ""],
    "timestamp": -1,
    "dedupId": "\n",
    "delaySeconds": -1,
    "deliverAt": "soon",
    "ttlSeconds": 0,
}


@pytest.mark.parametrize("declared", [each for each in PROPERTIES if each.property.fault], ids=lambda each: each.name)
def test_what_is_declared_to_be_wrong_is_refused(declared: Declared) -> None:
    body = {"bodyBase64": ""} if declared.name == "contentType" else {"body": 1}
    fields = msgspec.json.decode(msgspec.json.encode({**body, declared.name: WRONG[declared.name]}), type=MessageFields)
    with pytest.raises(ServerError) as refused:
        message_of(fields, "messages[3].")
    place = "[1]" if declared.name == "tags" else ""
    assert refused.value.field == f"messages[3].{declared.name}{place}"

"""Whatever is sent, somebody is told what is wrong with it, and the server has not failed."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import urlencode

import httpx2
from hypothesis import given, settings
from hypothesis import strategies as st

from app.http.exchange.http_services import HttpServices
from app.sqs.protocol.wire_types import MAP_VALUE, struct_type_of, wire_type_of
from app.sqs.shapes import CALLS
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import FakeSqs
from tests.unit.app.conftest import client_of
from tests.unit.app.sqs.protocol.sqs_server import json_error, xml_error

PATH = "/000000000000/orders"
OPERATIONS = st.sampled_from(sorted(CALLS))
NAMES = sorted({field.encode_name for call in CALLS.values() for field in struct_type_of(call.input).fields})
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.binary(max_size=9).map(lambda data: base64.b64encode(data).decode())
)
MEMBERS = st.sampled_from([*NAMES, "Id", "MessageBody", "ReceiptHandle", "DataType", "StringValue"]) | st.text()
VALUES = st.recursive(
    LEAVES, lambda each: st.lists(each, max_size=12) | st.dictionaries(MEMBERS, each, max_size=6), max_leaves=10
)
QUERY_NAMES = sorted(
    {
        wire_type_of(field.type).query or field.encode_name
        for call in CALLS.values()
        for field in struct_type_of(call.input).fields
    }
)
PARTS = st.sampled_from([*QUERY_NAMES, "Name", "Key", MAP_VALUE, "Id", "StringValue", "DataType"]) | st.text(max_size=5)
NUMBERS = st.integers(min_value=-1, max_value=10**10).map(str) | st.sampled_from(["1", "2", "01", "²", ""])
PARAMETERS = st.lists(
    st.tuples(st.lists(PARTS | NUMBERS, min_size=1, max_size=10).map(".".join), st.text(max_size=20)), max_size=20
)


# Without the application around it, which takes long to make.
DOOR = FakeSqs().front_door(HttpServices(MemoryWorld().gateway))


def ask(content: bytes, headers: dict[str, str]) -> httpx2.Response:
    async def answer() -> httpx2.Response:
        async with client_of(DOOR) as client:
            return await client.post(PATH, content=content, headers=headers)

    return asyncio.run(answer())


def with_body(operation: str, body: bytes) -> None:
    answer = ask(body, {"X-Amz-Target": f"AmazonSQS.{operation}"})
    if answer.status_code != 200:
        assert 400 <= json_error(answer)[0] < 500, answer.text
        assert answer.headers["x-amzn-query-error"].endswith(";Sender")
        assert len(answer.content) < 3_000


def with_form(form: bytes) -> None:
    answer = ask(form, {"Content-Type": "application/x-www-form-urlencoded"})
    if answer.status_code != 200:
        assert 400 <= xml_error(answer)[0] < 500, answer.text
        assert len(answer.content) < 3_000


@settings(deadline=None)
@given(operation=OPERATIONS, document=st.dictionaries(MEMBERS, VALUES, max_size=6))
def test_members_of_any_kind(operation: str, document: dict[str, Any]) -> None:
    with_body(operation, json.dumps(document).encode())


@settings(deadline=None)
@given(operation=OPERATIONS, body=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_bodies_that_are_no_json(operation: str, body: bytes) -> None:
    with_body(operation, body)


@settings(deadline=None)
@given(operation=OPERATIONS, parameters=PARAMETERS)
def test_parameters_of_any_name(operation: str, parameters: list[tuple[str, str]]) -> None:
    with_form(urlencode([("Action", operation), *parameters]).encode())


@settings(deadline=None)
@given(operation=OPERATIONS, rest=st.binary(max_size=200))
def test_forms_that_are_none(operation: str, rest: bytes) -> None:
    with_form(b"Action=%b&%b" % (operation.encode(), rest))


def test_a_list_of_as_many_as_fit() -> None:
    """The whole of a body, in the shortest entries that there are."""
    entries = b'{"Entries":[' + b",".join([b'{"Id":"a","MessageBody":"b"}'] * 140_000) + b"]}"
    with_body("SendMessageBatch", entries)
    with_form(b"Action=UntagQueue" + b"".join(b"&TagKey.%d=" % number for number in range(9_999)))
    with_form(b"Action=UntagQueue&TagKey" + b".1" * 1_000_000 + b"=a")

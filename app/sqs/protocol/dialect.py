"""The two protocols of SQS, as far as the front door tells them apart."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from app.http.exchange.responses import BytesResponse
from app.http.exchange.turns import Turns
from app.sqs.protocol.form import form_steps
from app.sqs.protocol.json_input import TARGET_PREFIX, operation_of, parse_json
from app.sqs.protocol.query_input import action_of, parse_query
from app.sqs.protocol.xml_output import error_document, result_steps
from app.sqs.sqs_error import SqsError

JSON_TYPE = "application/x-amz-json-1.0"
XML_TYPE = "text/xml"
SHAPES = "com.amazonaws.sqs#"
REQUEST_ID = "x-amzn-requestid"
QUERY_ERROR = "x-amzn-query-error"
"""What an error is called in the older protocol: clients that knew that one go by it."""

_encode = msgspec.json.Encoder().encode


class AskedCall(NamedTuple):
    operation: str
    input: msgspec.Struct


class Dialect(Protocol):
    @property
    def media_type(self) -> str: ...

    def operation_of(self) -> str | None:
        """What is asked for, where the headers say it. Raises SqsError INVALID_ACTION."""
        ...

    async def asked(self, query: bytes, body: bytes) -> AskedCall:
        """Raises SqsError."""
        ...

    async def answer(self, operation: str, result: msgspec.Struct | None, request_id: str) -> bytes: ...
    def failure(self, error: SqsError, request_id: str) -> BytesResponse: ...


class JsonDialect:
    """JSON both ways. `target` is the header that says what is asked for."""

    media_type = JSON_TYPE

    def __init__(self, target: str) -> None:
        self._target = target

    def operation_of(self) -> str:
        return operation_of(self._target)

    async def asked(self, query: bytes, body: bytes) -> AskedCall:
        operation = self.operation_of()
        return AskedCall(operation, parse_json(operation, body))

    async def answer(self, operation: str, result: msgspec.Struct | None, request_id: str) -> bytes:
        return b"{}" if result is None else _encode(result)

    def failure(self, error: SqsError, request_id: str) -> BytesResponse:
        fault = error.code.value
        headers = {QUERY_ERROR: f"{fault.code};{'Sender' if fault.is_senders else 'Receiver'}"}
        body = _encode({"__type": f"{SHAPES}{fault.shape}", "message": error.message})
        return _failure(error, body, JSON_TYPE, request_id, headers)


class QueryDialect:
    """Forms in, or parameters of the URL; XML out."""

    media_type = XML_TYPE

    def __init__(self, turns: Turns) -> None:
        self._turns = turns

    def operation_of(self) -> None:
        return None

    async def asked(self, query: bytes, body: bytes) -> AskedCall:
        fields = await self._turns.take(form_steps(query, body))
        operation = action_of(fields)
        return AskedCall(operation, parse_query(operation, fields))

    async def answer(self, operation: str, result: msgspec.Struct | None, request_id: str) -> bytes:
        return await self._turns.take(result_steps(operation, result, request_id))

    def failure(self, error: SqsError, request_id: str) -> BytesResponse:
        return _failure(error, error_document(error, request_id), XML_TYPE, request_id, {})


def dialect_of(target: str | None, turns: Turns) -> Dialect:
    """`target` is the header of that name."""
    is_json = target is not None and target.startswith(TARGET_PREFIX)
    return JsonDialect(target) if target is not None and is_json else QueryDialect(turns)


def _failure(
    error: SqsError, body: bytes, media_type: str, request_id: str, headers: Mapping[str, str]
) -> BytesResponse:
    all_headers = {REQUEST_ID: request_id, **headers}
    if error.retry_after_ms is not None:
        all_headers["retry-after"] = str(max(1, -(-error.retry_after_ms // 1000)))
    return BytesResponse(body, error.code.value.status, all_headers, media_type)

"""A call that fails leaves nothing behind: an error holds what it came through, and with that the request's body."""

import gc
from collections.abc import Iterator

import pytest

from app.auth.tokens import parse_token_table
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from tests.unit.app.sqs.protocol.sqs_server import URL, SqsServer, sqs_server

BODY = "x" * 100_000
TABLE = parse_token_table(b'{"tokens":[{"name":"a","token":"a-first-token-0123456789","roles":["viewer"]}]}')


@pytest.fixture(autouse=True)
def _only_what_nobody_holds_goes() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def errors_left() -> list[BaseException]:
    return [each for each in gc.get_objects() if isinstance(each, SqsError | ServerError)]


async def refused(server: SqsServer, operation: str, document: object) -> None:
    assert (await server.json(operation, document)).status_code >= 400
    assert (await server.query(operation, ("QueueUrl", f"{URL}/no/queue"), ("MessageBody", BODY))).status_code >= 400


@pytest.mark.parametrize(
    ("operation", "document"),
    [
        ("SendMessage", {"QueueUrl": URL, "MessageBody": [BODY]}),
        ("SendMessage", {"MessageBody": BODY}),
        ("SendMessage", {"QueueUrl": "nowhere", "MessageBody": BODY}),
        ("CreateQueue", {"QueueName": 7, "Attributes": {"a": BODY}}),
        ("FlyAway", {"a": BODY}),
    ],
)
async def test_what_cannot_be_read(operation: str, document: object) -> None:
    before = len(errors_left())
    async with sqs_server() as server:
        await refused(server, operation, document)
        assert len(errors_left()) == before


@pytest.mark.parametrize("operation", ["CreateQueue", "SendMessage"])
async def test_what_the_services_refuse(operation: str) -> None:
    before = len(errors_left())
    async with sqs_server() as server:
        server.fake.asked.fault = SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, "no")
        document = {"QueueName": "orders", "QueueUrl": URL, "MessageBody": BODY}
        assert (await server.json(operation, document)).status_code == 400
        server.fake.asked.fault = None
        assert len(errors_left()) == before


async def test_who_is_not_known() -> None:
    before = len(errors_left())
    async with sqs_server(tokens=TABLE) as server:
        await refused(server, "SendMessage", {"QueueUrl": URL, "MessageBody": BODY})
        assert len(errors_left()) == before


@pytest.mark.parametrize("operation", ["DeleteMessage", "ChangeMessageVisibility"])
async def test_what_an_entry_fails_with_is_raised_anew(operation: str) -> None:
    """Who raises what stands in a variable has it hold the frame with that variable."""
    async with sqs_server() as server:
        fault = server.fake.messages.faults["h"] = SqsError(SqsErrorCode.RECEIPT_HANDLE_IS_INVALID, "no")
        answer = await server.json(operation, {"QueueUrl": URL, "ReceiptHandle": "h", "VisibilityTimeout": 1})
        assert answer.status_code == 400
        assert fault.__traceback__ is None

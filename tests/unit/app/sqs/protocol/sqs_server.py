"""A gateway with SQS's front door, and fakes behind it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode
from xml.etree import ElementTree

import httpx2

from app.auth.tokens import TokenTable
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from tests.support.http_protocol_client import MemoryServer, ProtocolTransport
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_fakes import FakeSqs
from tests.unit.app.conftest import client_of

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"
URL = "http://gateway/000000000000/orders"


class SqsServer:
    def __init__(self, client: httpx2.AsyncClient, fake: FakeSqs, world: MemoryWorld) -> None:
        self.client = client
        self.fake = fake
        self.world = world

    async def json(
        self, operation: str, document: object = None, *, path: str = "/", headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        all_headers = {"X-Amz-Target": f"AmazonSQS.{operation}", "Content-Type": "application/x-amz-json-1.0"}
        return await self.client.post(path, json=document or {}, headers={**all_headers, **(headers or {})})

    async def query(
        self, operation: str, *pairs: tuple[str, str], path: str = "/", headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        form = urlencode([("Action", operation), ("Version", "2012-11-05"), *pairs])
        all_headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8", **(headers or {})}
        return await self.client.post(path, content=form, headers=all_headers)


@asynccontextmanager
async def sqs_server(settings: Settings | None = None, tokens: TokenTable | None = None) -> AsyncIterator[SqsServer]:
    world, fake = MemoryWorld(settings, tokens), FakeSqs()
    application = create_server_app(world.gateway, [fake.front_door])
    async with client_of(application.asgi) as client:
        yield SqsServer(client, fake, world)


@asynccontextmanager
async def short_sqs_server(settings: Settings, tokens: TokenTable | None = None) -> AsyncIterator[SqsServer]:
    """The same through the server's protocol: hot calls come to no front door."""
    world, fake = MemoryWorld(settings, tokens), FakeSqs()
    server = MemoryServer(create_server_app(world.gateway, [fake.front_door]), settings)
    async with httpx2.AsyncClient(transport=ProtocolTransport(server), base_url="http://gateway") as client:
        yield SqsServer(client, fake, world)


def xml_of(answer: httpx2.Response) -> ElementTree.Element:
    assert answer.headers["content-type"] == "text/xml"
    return ElementTree.fromstring(answer.content)


def tree_of(element: ElementTree.Element) -> Any:
    """Pairs of names and what is in them, or the text."""
    children = [(child.tag.removeprefix(NAMESPACE), tree_of(child)) for child in element]
    return children or (element.text or "")


def result_of(answer: httpx2.Response, operation: str) -> Any:
    """What is in an answer's result; None where it has none."""
    assert answer.status_code == 200, answer.text
    root = xml_of(answer)
    assert root.tag == f"{NAMESPACE}{operation}Response"
    assert root.findtext(f"{NAMESPACE}ResponseMetadata/{NAMESPACE}RequestId") == answer.headers["x-amzn-requestid"]
    result = root.find(f"{NAMESPACE}{operation}Result")
    return None if result is None else tree_of(result)


def xml_error(answer: httpx2.Response) -> tuple[int, str, str]:
    """(status, code, message)."""
    root = xml_of(answer)
    assert root.tag == f"{NAMESPACE}ErrorResponse"
    assert root.findtext(f"{NAMESPACE}RequestId") == answer.headers["x-amzn-requestid"]
    error = root.find(f"{NAMESPACE}Error")
    assert error is not None
    kind = "Receiver" if answer.status_code >= 500 else "Sender"
    assert error.findtext(f"{NAMESPACE}Type") == kind
    return answer.status_code, error.findtext(f"{NAMESPACE}Code") or "", error.findtext(f"{NAMESPACE}Message") or ""


def json_error(answer: httpx2.Response) -> tuple[int, str, str]:
    """(status, shape, message)."""
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    document = answer.json()
    return answer.status_code, document["__type"].removeprefix("com.amazonaws.sqs#"), document["message"]

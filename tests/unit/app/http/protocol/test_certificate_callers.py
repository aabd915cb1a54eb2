"""Certificates of clients as callers: the short way of a send and that through the application decide alike."""

import json
import re
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from tests.support.http_protocol_client import MemoryServer
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

TOKEN = "a-token-0123456789"
FILE = {
    "tokens": [{"name": "looks", "token": TOKEN, "roles": ["viewer"]}],
    "identities": [{"name": "b", "certificates": ["acklog://client/b*"], "roles": ["producer"], "topics": ["bills"]}],
}
LATER, BEFORE = "Jan  1 00:00:00 2090 GMT", "Jan  1 00:00:00 2020 GMT"


def certificate(name: str, ends: str = LATER) -> dict[str, Any]:
    return {"subject": (), "subjectAltName": (("URI", f"acklog://client/{name}"),), "notAfter": ends}


class Rig:
    def __init__(self) -> None:
        settings = Settings()
        self.world = MemoryWorld(settings, tokens=parse_token_table(json.dumps(FILE).encode()))
        self.server = MemoryServer(create_server_app(self.world.gateway), settings)

    async def send(self, target: str, shown: dict[str, Any] | None, token: str | None) -> tuple[int, str]:
        """Its status, and the code of its refusal."""
        body = json.dumps({"queue": "bills", "body": 1})
        lines = [f"POST {target} HTTP/1.1", "host: a", f"content-length: {len(body)}"]
        lines += [] if token is None else [f"authorization: Bearer {token}"]
        protocol, transport = self.server.connect(shown)
        protocol.data_received(("\r\n".join([*lines, "", ""]) + body).encode())
        await settle()
        transport.closed.set()
        protocol.connection_lost(None)
        answer = transport.written.decode()
        code = re.search(r'"code":"([A-Z_]+)"', answer)
        return int(answer.split()[1]), "" if code is None else code[1]


@pytest.mark.parametrize(
    ("shown", "token", "expected"),
    [
        (certificate("billing"), None, (201, "")),
        (certificate("billing"), TOKEN, (403, "FORBIDDEN")),
        (certificate("billing"), "nobody", (401, "UNAUTHENTICATED")),
        (certificate("billing", BEFORE), None, (401, "TOKEN_EXPIRED")),
        (certificate("other"), None, (401, "UNAUTHENTICATED")),
        ({}, None, (401, "UNAUTHENTICATED")),
        (None, None, (401, "UNAUTHENTICATED")),
        (None, TOKEN, (403, "FORBIDDEN")),
    ],
)
async def test_who_sends(shown: dict[str, Any] | None, token: str | None, expected: tuple[int, str]) -> None:
    rig = Rig()
    await rig.send("/messages", certificate("billing"), None)  # the topic is created the ordinary way
    rig.server.asgi_requests = 0
    assert await rig.send("/messages?acks=all", shown, token) == expected
    assert rig.server.asgi_requests == 1
    assert await rig.send("/messages", shown, token) == expected
    assert rig.server.asgi_requests == (1 if expected[0] == 201 else 2), "what is refused is told by the application"

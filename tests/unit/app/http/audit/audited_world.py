"""Servers that ask for tokens and record what is done with them."""

import json
from collections.abc import Iterable
from typing import Any

import httpx2

from app.auth.tokens import TokenTable, parse_token_table
from app.configuration.server_settings import Settings
from tests.support.manual_clock import settle
from tests.support.memory_gateway import MemoryWorld

ADMIN = "an-admins-token-0123456789"
PRODUCER = "a-producers-token-0123456789"
AUDITOR = "an-auditors-token-0123456789"
READER = "a-readers-token-0123456789"
UNKNOWN = "nobodys-token-0123456789"
TOKENS = [
    {"name": "admin", "token": ADMIN, "roles": ["admin"]},
    {"name": "producer", "token": PRODUCER, "roles": ["producer"], "topics": ["orders*"]},
    {"name": "auditor", "token": AUDITOR, "roles": ["auditor"]},
    {"name": "reader", "token": READER, "roles": ["consumer", "viewer", "operator"]},
]


def token_table(more: Iterable[dict[str, Any]] = ()) -> TokenTable:
    return parse_token_table(json.dumps({"tokens": [*TOKENS, *more]}).encode())


def audited_world(**settings: Any) -> MemoryWorld:
    return MemoryWorld(Settings(**settings), tokens=token_table())


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def records_of(client: httpx2.AsyncClient, query: str = "", token: str = AUDITOR) -> list[dict[str, Any]]:
    """Also what nobody waits for."""
    await settle()
    answer = await client.get(f"/audit?max=1000{query}", headers=bearer(token))
    assert answer.status_code == 200, answer.text
    page = answer.json()
    assert page["atEnd"]
    found: list[dict[str, Any]] = page["records"]
    return found

"""Every administrative operation of openapi.yaml: each act is there once, with who did it and what came of it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.configuration.server_settings import Settings
from app.gateway.dependencies import Gateway
from app.http.application import create_server_app
from storage.node.partition.node_settings import NodeSettings
from tests.support.memory_gateway import MemoryWorld
from tests.support.server_in_process import served
from tests.unit.app.conftest import client_of
from tests.unit.app.http.audit.audited_world import records_of, token_table
from tests.unit.app.http.test_rights_by_route import DOCUMENT, ROUTES, SETUP, Asker, token_of

ASKER, WEAK = "asker", "weak"
RIGHTS = {
    operation["operationId"]: operation["x-rights"]
    for operations in DOCUMENT["paths"].values()
    for operation in operations.values()
}
ACTS = [name for name, rights in RIGHTS.items() if re.search(r"(?<!or )\b(manage|seek|purge) on", rights)]
"""What may be done by another right as well is only a look."""
RESULTS = {2: "allowed", 4: "failed", 5: "failed"}
IN_PATHS = {"node": "1", "partition": "0", "token": "t"}


@pytest.fixture(params=["on", "required"])
def settings(request: pytest.FixtureRequest) -> Settings:
    return Settings(audit=request.param)


@asynccontextmanager
async def audited(settings: Settings) -> AsyncIterator[tuple[Gateway, httpx2.AsyncClient]]:
    admins = [{"name": name, "token": token_of(name), "roles": ["admin"]} for name in (SETUP, ASKER)]
    weak = {"name": WEAK, "token": token_of(WEAK), "roles": ["viewer"]}
    gateway = MemoryWorld(settings, tokens=token_table([*admins, weak])).gateway
    async with client_of(create_server_app(gateway).asgi) as client:
        yield gateway, client


@pytest.mark.parametrize("operation", ACTS)
async def test_it_is_recorded_once(operation: str, settings: Settings) -> None:
    async with audited(settings) as (_, client):
        asker = Asker(client, operation)
        await asker.prepare()
        answer = await asker.ask(token_of(ASKER))
        found = await records_of(client, f"&who={ASKER}")
    intended = [each for each in found if each["result"] == "intended"]
    [record] = [each for each in found if each["result"] != "intended"]
    method, route = ROUTES[operation]
    assert (record["operation"], record["method"], record["route"]) == (operation, method, route)
    assert (record["status"], record["result"]) == (answer.status_code, RESULTS[answer.status_code // 100])
    assert record.get("code", "") == (answer.json()["code"] if answer.status_code >= 400 else "")
    assert record["principal"] == {"name": ASKER, "kind": "file"}
    assert record["address"] == "127.0.0.1"
    assert RIGHTS[operation].startswith(", ".join(record["needs"]))
    in_path = {name: IN_PATHS.get(name, "mine") for name in re.findall(r"{(\w+)}", route)}
    assert in_path.items() <= record.get("names", {}).items()
    assert len(intended) == (settings.audit == "required")
    for each in intended:
        assert (each["id"], each.get("asked")) == (record["id"], record.get("asked"))
        assert each["offset"] < record["offset"]


@pytest.mark.parametrize("operation", ACTS)
async def test_who_may_not_do_it_is_recorded_once(operation: str, settings: Settings) -> None:
    """And cannot fill the log with what they intend."""
    async with audited(settings) as (gateway, client):
        asker = Asker(client, operation)
        await asker.prepare()
        refused = await asker.ask(token_of(WEAK))
        unknown = await asker.ask(token_of("nobody"))
        assert (refused.status_code, unknown.status_code) == (403, 401)
        await gateway.shutdown.end()
        found = [each for each in await records_of(client) if each["result"] == "refused"]
        told = [(each["operation"], each.get("principal", {}).get("name"), each["code"]) for each in found]
        assert told == [(operation, WEAK, "FORBIDDEN"), (operation, None, "UNAUTHENTICATED")]
        assert len(await records_of(client, f"&who={WEAK}")) == 1
        assert "no right to" in found[0]["detail"]


async def test_all_of_them_on_an_embedded_server(tmp_path: Path, settings: Settings) -> None:
    tokens: Any = token_table({"name": name, "token": token_of(name), "roles": ["admin"]} for name in (SETUP, ASKER))
    asked = []
    async with (
        served(tmp_path / "data", NodeSettings(), settings=settings, tokens=tokens) as server,
        client_of(create_server_app(server.embedded.gateway).asgi) as client,
    ):
        await Asker(client, "putTopic").prepare()
        for operation in ACTS:
            answer = await Asker(client, operation).ask(token_of(ASKER))
            asked.append((operation, answer.status_code))
        found = await records_of(client, f"&who={ASKER}")
        assert len({each["id"] for each in found}) == len(asked)
    assert [(each["operation"], each["status"]) for each in found if each["result"] != "intended"] == asked
    assert {status for _, status in asked} >= {200, 201, 204}


def test_the_acts_are_those_that_people_ask_for() -> None:
    """They come from the table of rights: a call that is to be recorded, and is not among these, has the wrong ones."""
    known = "putTopic updateTopic deleteTopic purgeTopic deleteBefore putGroup updateGroup deleteGroup seekGroup "
    known += "copyPosition skipBlocked drainNode reassignPartition electUnclean createToken rotateToken revokeToken"
    assert set(ACTS) >= set(known.split())
    assert not {"sendMessages", "receiveMessages", "acknowledge", "lookAtCluster", "readAudit"} & set(ACTS)

"""A slash that is packed into a part of a path stays in that part, however the request comes in."""

from urllib.parse import quote

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from cluster.model.namespace import NamespaceSettings
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import Connect

NAMES = ["shop/orders", "shop/partitions", "shop/keys", "shop/0", "a/partitions/0", "/orders", "shop/", "%2F", "a%2Fb"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("slash", ["%2F", "%2f"])
async def test_the_name_is_what_the_client_meant(world: MemoryWorld, serve: Connect, name: str, slash: str) -> None:
    """It is looked for, and refused, as one name."""
    encoded = quote(name, safe="").replace("%2F", slash)
    async with serve(world) as client:
        for path in (f"/topics/{encoded}", f"/topics/{encoded}/partitions/0", f"/topics/{encoded}/scheduled"):
            answer = (await client.get(path)).json()
            if name.count("/") == 1 and all(name.split("/")):
                assert answer["code"] == "TOPIC_NOT_FOUND", answer
                assert repr(name) in answer["detail"]
            else:
                assert answer["code"] == "INVALID_NAME", answer
        answer = (await client.get(f"/groups/{encoded}/members")).json()
        assert answer["code"] in {"GROUP_NOT_FOUND", "INVALID_NAME"}


async def test_what_is_not_packed_parts_a_path(world: MemoryWorld, serve: Connect) -> None:
    await world.gateway.namespaces.get_or_create("shop", NamespaceSettings())
    await world.topic("shop/orders", partitions=1)
    await world.topic("shop", partitions=3)
    async with serve(world) as client:
        found = (await client.get("/topics/shop%2Forders")).json()
        assert (found["name"], found["partitions"]) == ("shop/orders", 1)
        assert (await client.get("/topics/shop")).json()["partitions"] == 3
        part = (await client.get("/topics/shop%2Forders/partitions/0")).json()
        assert (part["topic"], part["partition"]) == ("shop/orders", 0)
        missing = await client.get("/topics/shop/orders")
        assert (missing.status_code, missing.json()["code"]) == (404, ProblemCode.NOT_FOUND.name)
        # Nor does a packed one make a longer path.
        inner = (await client.get("/topics/shop%2Fpartitions%2F0")).json()
        assert inner["code"] == "INVALID_NAME"
        for path in ("/topics%2Fshop", "/nowhere/a%2Fb", "/messages%2F", "/%2Fmessages", "/%ED%B0%AF"):
            answer = await client.get(path)
            assert answer.status_code == 404, path
            assert answer.json()["code"] == "NOT_FOUND"
        shown = (await client.get("/nowhere/a%2Fb")).json()["detail"]
        assert shown == "nothing is at /nowhere/a%2Fb"
        wrong = await client.put("/topics/shop%2Forders/partitions/0")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")


async def test_routes_are_counted_as_before(world: MemoryWorld, serve: Connect) -> None:
    async with serve(world) as client:
        await client.get("/topics/shop%2Forders")
        text = (await client.get("/metrics")).text
    assert 'acklog_http_requests_total{method="GET",route="/topics/{topic}",status="404"} 1' in text


async def test_rights_are_judged_by_the_whole_name(serve: Connect) -> None:
    text = b'{"tokens": [{"name": "t", "token": "0123456789abcdef", "roles": ["viewer"], "topics": ["shop", "shop*"]}]}'
    world = MemoryWorld(tokens=parse_token_table(text))
    await world.topic("shop/orders")
    async with serve(world) as client:
        headers = {"Authorization": "Bearer 0123456789abcdef"}
        answer = await client.get("/topics/shop%2Forders", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
        assert "'shop/orders'" in answer.json()["detail"]

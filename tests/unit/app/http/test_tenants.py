"""Every route, asked by the tenant of a namespace, by that of another one, and by who has rights on all in none.

Nothing of a namespace shows to who has no right in it, not even whether there is such a thing."""

import json
from typing import Any

import pytest

from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_app, create_server_app
from app.http.description.needed_rights import NEEDED, On
from cluster.model.action import Action
from cluster.model.internal_topics import AUDIT_TOPIC
from cluster.model.namespace import NamespaceSettings
from cluster.model.values import GroupMode, GroupSettings
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of
from tests.unit.app.http.test_rights_by_route import BODIES, OPEN, ROUTES, SETUP, Asker, token_of

EVERY_ACTION = [each.value for each in Action]
OWN, OTHERS, NONES, LONE, CLUSTER = "own", "others", "nones", "lone", "cluster"
PATTERNS = {
    OWN: ["shop/*"],
    OTHERS: ["other/*", "shop", "shop*", "sho?", "[s]hop*"],
    NONES: ["**", "*e*", "?*", "[!q]*"],
    LONE: ["shop/theirs"],
}
NAMED = [
    name for name in ROUTES if any(need.on in {On.TOPIC, On.GROUP} for need in NEEDED[name].needs) and name not in OPEN
]
BY_ID = [name for name in NAMED if "{messageId}" in ROUTES[name][1] or "receipt" in json.dumps(BODIES.get(name))]


def world_of_tenants() -> MemoryWorld:
    rights = {name: [{"allow": EVERY_ACTION, "topics": each, "groups": each}] for name, each in PATTERNS.items()}
    rights[SETUP] = [{"allow": EVERY_ACTION, "topics": ["*"], "groups": ["*"], "cluster": True}]
    rights[CLUSTER] = [{"allow": ["manage"], "cluster": True}]
    entries = [{"name": name, "token": token_of(name), "rights": each} for name, each in rights.items()]
    # No stream has a place: whoever may have one is told so at once, where the stream itself would have no end.
    settings = Settings(events_watchers_max=0, tails_max=0)
    return MemoryWorld(settings, parse_token_table(json.dumps({"tokens": entries}).encode()))


@pytest.fixture(params=["framework", "server"])
def way(request: pytest.FixtureRequest) -> Any:
    """The application alone, and with what is served before it."""
    return create_app if request.param == "framework" else lambda gateway: create_server_app(gateway).asgi


@pytest.mark.parametrize("operation", NAMED)
async def test_a_tenant_gets_at_its_own_and_nobody_elses(operation: str, way: Any) -> None:
    world = world_of_tenants()
    async with client_of(way(world.gateway)) as client:
        asker = Asker(client, operation, prefix="shop/")
        await asker.prepare()
        for token in (OTHERS, NONES, LONE):
            looked_up: list[str] = []
            spied(world, looked_up)
            there = await asker.ask(token_of(token))
            assert there.status_code == 403, (token, there.text)
            assert there.json()["code"] == "FORBIDDEN"
            if operation in BY_ID:  # by an id, which nobody guesses
                assert "shop" not in there.text
                continue
            missing = await asker.ask(token_of(token), {"topic": "shop/nine", "group": "shop/nine"})
            assert missing.status_code == 403
            assert there.text.replace("mine", "nine") == missing.text
            # What it takes to find out is not begun, so that time tells nothing either.
            assert looked_up == [], (token, operation)
            spied(world, [])
        # The world in memory knows no schedules: that it may is what counts here.
        own = await asker.ask(token_of(OWN))
        if NEEDED[operation].needs[0].on is not On.CLUSTER:
            assert "FORBIDDEN" not in own.text, own.text


def spied(world: MemoryWorld, looked_up: list[str]) -> None:
    """Have every question for a topic or a group noted."""
    metadata: Any = world.metadata
    for name in ("topic", "group", "topics", "groups", "confirm", "confirm_all"):
        plain = getattr(type(metadata), name)

        def noted(*arguments: Any, name: str = name, plain: Any = plain) -> Any:
            if arguments[:1] != (AUDIT_TOPIC,):  # where it is recorded who was refused
                looked_up.append(name)
            return plain(metadata, *arguments)

        setattr(metadata, name, noted)


@pytest.mark.parametrize("operation", [name for name in ROUTES if name not in NAMED and name not in OPEN])
async def test_what_names_no_topic_or_group_shows_none_of_another_tenant(operation: str, way: Any) -> None:
    world = world_of_tenants()
    await world.gateway.namespaces.get_or_create("shop", NamespaceSettings())
    await world.gateway.namespaces.get_or_create("mine", NamespaceSettings())
    async with client_of(way(world.gateway)) as client:
        asker = Asker(client, operation, prefix="shop/")
        await asker.prepare()
        for token in (OTHERS, NONES):
            answer = await asker.ask(token_of(token))
            assert answer.status_code in {200, 403} or "TOO_MANY_WATCHERS" in answer.text, answer.text
            # Patterns of the token that asks, and what it asks about itself.
            told = answer.text.replace("shop*", "").replace('"shop"', "").replace("topic 'shop/mine'", "")
            assert "shop" not in told, (token, answer.text)


@pytest.mark.parametrize(
    ("group", "token", "pattern", "may"),
    [
        ("shop/ex", OWN, "*", True),  # all of the group's namespace, which is the token's
        ("shop/ex", OWN, "shop/*", True),
        ("shop/theirs", LONE, "*", False),
        ("ex", NONES, "*", True),
        ("shop/ex", SETUP, "*", True),
    ],
)
async def test_who_has_a_whole_namespace_subscribes_to_all_of_it(
    way: Any, group: str, token: str, pattern: str, may: bool
) -> None:
    world = world_of_tenants()
    async with client_of(way(world.gateway)) as client:
        await world.groups.create(group, mode=GroupMode.EXCLUSIVE, settings=GroupSettings())
        path = f"/groups/{group.replace('/', '%2F')}/members/m"
        head = {"Authorization": f"Bearer {token_of(token)}"}
        answer = await client.put(path, json={"patterns": [pattern]}, headers=head)
        assert ("FORBIDDEN" not in answer.text) == may, answer.text


async def test_listings_have_a_tenants_own(way: Any) -> None:
    world = world_of_tenants()
    async with client_of(way(world.gateway)) as client:
        for name in ("shop/a", "shop/theirs", "other/b", "shopping", "none"):
            await world.topic(name)
        for name in ("shop/g", "other/h", "none"):
            await world.groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings())
        for namespace in ("shop", "other", "third"):
            await world.gateway.namespaces.get_or_create(namespace, NamespaceSettings())

        async def listed(kind: str, token: str) -> list[str]:
            answer = (await client.get(f"/{kind}", headers=of(token))).json()
            return [each["name"] for each in answer[kind]]

        assert await listed("topics", OWN) == ["shop/a", "shop/theirs"]
        assert await listed("topics", OTHERS) == ["other/b", "shopping"]
        assert await listed("topics", NONES) == ["none", "shopping"]
        assert await listed("topics", LONE) == ["shop/theirs"]
        assert await listed("topics", SETUP) == ["none", "other/b", "shop/a", "shop/theirs", "shopping"]
        assert await listed("groups", OWN) == ["shop/g"]
        assert await listed("groups", NONES) == ["none"]
        assert await listed("namespaces", OWN) == ["shop"]
        assert await listed("namespaces", OTHERS) == ["other"]
        assert await listed("namespaces", NONES) == []
        assert await listed("namespaces", LONE) == ["shop"]
        assert await listed("namespaces", CLUSTER) == ["other", "shop", "third"]


async def test_who_may_look_at_a_namespace(way: Any) -> None:
    world = world_of_tenants()
    await world.gateway.namespaces.get_or_create("shop", NamespaceSettings(topics_max=3))
    async with client_of(way(world.gateway)) as client:
        for token, status in ((OWN, 200), (LONE, 200), (CLUSTER, 200), (SETUP, 200), (OTHERS, 403), (NONES, 403)):
            there = await client.get("/namespaces/shop", headers=of(token))
            assert there.status_code == status, (token, there.text)
            if status == 403:
                missing = await client.get("/namespaces/shot", headers=of(token))
                assert missing.text == there.text.replace("shop", "shot")
        for method in ("put", "patch", "delete"):
            answer = await getattr(client, method)("/namespaces/shop", headers=of(OWN))
            assert answer.json()["code"] == "FORBIDDEN"


async def test_near_names_are_of_the_namespace(way: Any) -> None:
    world = world_of_tenants()
    for name in ("shop/orders", "other/orders", "orders"):
        await world.topic(name)
    async with client_of(way(world.gateway)) as client:
        near = {
            name: (await client.get(f"/topics/{name}", headers=of(SETUP))).json()["near"]
            for name in ("shop%2Forderz", "orderz", "third%2Forderz")
        }
    assert near == {"shop%2Forderz": ["shop/orders"], "orderz": ["orders"], "third%2Forderz": []}


def of(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(token)}"}

"""What is in messages is shown to whoever may receive them, and to nobody else: of calls that need another right, what
their answers show. Whole nodes on virtual time."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest

from app.auth.tokens import parse_token_table
from tests.support.cluster import Cluster, ClusterBuilder, client_of

ADMIN = "an-admin-token-0123456789"
ON_ORDERS = {"topics": ["orders"], "groups": ["workers"]}
RIGHTS: dict[str, list[dict[str, Any]]] = {
    "looks": [{"allow": ["look"], **ON_ORDERS}],
    "reads": [{"allow": ["look", "receive"], **ON_ORDERS}],
    "reads another": [{"allow": ["look"], **ON_ORDERS}, {"allow": ["receive"], "topics": ["o"], "groups": ["workers"]}],
    "seeks": [{"allow": ["seek"], **ON_ORDERS}],
    "seeks and reads": [{"allow": ["seek", "receive"], **ON_ORDERS}],
    "is a member": [{"allow": ["receive"], **ON_ORDERS}],
    "is another": [{"allow": ["receive"], "topics": ["o*"], "groups": ["workers"]}],
    "sends": [{"allow": ["send"], **ON_ORDERS}],
    "sends and reads": [{"allow": ["send", "receive"], **ON_ORDERS}],
}
"""By token."""
CONTENT = {
    "key": "kept-to-itself",
    "headers": {"kept": "to itself"},
    "tags": ["kept"],
    "ttlSeconds": 60.0,
}
SCHEDULE = "/topics/orders/schedules/tick"
EACH_HOUR = {"everySeconds": 3600, "message": {"body": {"kept": "to itself"}, **CONTENT}}

ClientOf = Callable[[str], httpx2.AsyncClient]


def token_of(name: str) -> str:
    return ADMIN if name == "admin" else f"{name}-token-0123456789".replace(" ", "-")


def with_tokens(test: Callable[[Cluster, ClientOf], Awaitable[None]]) -> None:
    entries: list[dict[str, Any]] = [{"name": "admin", "token": ADMIN, "roles": ["admin"]}]
    entries += [{"name": name, "token": token_of(name), "rights": rights} for name, rights in RIGHTS.items()]
    tokens = parse_token_table(json.dumps({"tokens": entries}).encode())

    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways

        def client(name: str) -> httpx2.AsyncClient:
            return client_of(gateway, token=token_of(name))

        await succeed(client("admin"), "PUT", "/topics/orders", {"partitions": 1})
        await test(cluster, client)

    ClusterBuilder().nodes(1).gateway(tokens=tokens).run(main)


async def succeed(client: httpx2.AsyncClient, method: str, path: str, body: object = None) -> Any:
    answer = await client.request(method, path, json=body)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


@pytest.mark.parametrize(("name", "is_shown"), [("looks", False), ("reads another", False), ("reads", True)])
def test_a_list_of_what_is_scheduled(name: str, is_shown: bool) -> None:
    async def test(cluster: Cluster, client: ClientOf) -> None:
        message = {"queue": "orders", "body": {"n": 1}, "delaySeconds": 60, **CONTENT}
        sent = await succeed(client("admin"), "POST", "/messages", message)
        plain = {"queue": "orders", "bodyBase64": "AAAA", "contentType": "image/png", "delaySeconds": 61}
        await succeed(client("admin"), "POST", "/messages", plain)
        first, second = (await succeed(client(name), "GET", "/topics/orders/scheduled"))["scheduled"]
        assert (first["scheduleId"], first["deliverAt"]) == (sent["scheduleId"], sent["deliverAt"])
        assert (first["size"], second["size"]) == (7, 3)
        of_content = set(first) - {"scheduleId", "queue", "partition", "state", "deliverAt", "size"}
        assert of_content == (set(CONTENT) if is_shown else set())
        assert ("contentType" in second) == is_shown

    with_tokens(test)


async def _block_one(client: httpx2.AsyncClient) -> None:
    settings = {"onExhausted": "block", "maxAttempts": 1}
    await succeed(client, "PUT", "/groups/workers", {"mode": "keyOrdered", "settings": settings})
    await succeed(client, "POST", "/messages", {"queue": "orders", "body": 1, "key": CONTENT["key"]})
    path = "/messages?queue=orders&group=workers&mode=keyOrdered&waitSeconds=1"
    [message] = (await succeed(client, "GET", path))["messages"]
    await succeed(client, "POST", "/nack", {"receipt": message["receipt"], "delaySeconds": 0})


@pytest.mark.parametrize(("name", "is_shown"), [("looks", False), ("reads another", False), ("reads", True)])
def test_a_list_of_what_is_blocked(name: str, is_shown: bool) -> None:
    async def test(cluster: Cluster, client: ClientOf) -> None:
        await _block_one(client("admin"))
        [shown] = (await succeed(client(name), "GET", "/groups/workers/keys"))["keys"]
        assert (shown["offset"], shown["attempts"]) == (0, 1)
        assert shown["key"] == (CONTENT["key"] if is_shown else None)

    with_tokens(test)


@pytest.mark.parametrize("decision", ["skip", "release"])
@pytest.mark.parametrize(("name", "is_shown"), [("seeks", False), ("seeks and reads", True)])
def test_what_is_decided_about(name: str, is_shown: bool, decision: str) -> None:
    async def test(cluster: Cluster, client: ClientOf) -> None:
        await _block_one(client("admin"))
        place = {"topic": "orders", "partition": 0, "offset": 0}
        [shown] = (await succeed(client(name), "POST", f"/groups/workers/keys/{decision}", place))["keys"]
        assert shown["key"] == (CONTENT["key"] if is_shown else None)

    with_tokens(test)


@pytest.mark.parametrize(("name", "is_shown"), [("sends", False), ("sends and reads", True)])
def test_the_message_of_a_recurring_schedule(name: str, is_shown: bool) -> None:
    async def test(cluster: Cluster, client: ClientOf) -> None:
        await succeed(client("admin"), "PUT", SCHEDULE, EACH_HOUR)
        sender = client(name)
        answers = [await succeed(sender, "PATCH", SCHEDULE, changes) for changes in ({}, {"paused": True})]
        answers.append(await succeed(sender, "PUT", SCHEDULE, EACH_HOUR))
        for answer in answers:
            assert (answer["schedule"], answer["everySeconds"]) == ("tick", 3600)
            assert answer.get("message") == (EACH_HOUR["message"] if is_shown else None)

    with_tokens(test)


@pytest.mark.parametrize(("name", "expected"), [("is a member", ["orders"]), ("is another", ["orders", "others"])])
def test_what_a_member_is_to_receive(name: str, expected: list[str]) -> None:
    """Whoever receives for the group may send a heartbeat for any member, and ask who there is."""

    async def test(cluster: Cluster, client: ClientOf) -> None:
        admin, path = client("admin"), "/groups/workers/members/ada"
        await succeed(admin, "PUT", "/topics/others", {"partitions": 1})
        await succeed(admin, "PUT", "/groups/workers", {"mode": "exclusive"})
        joined = await succeed(admin, "PUT", path, {"topics": ["orders", "others"]})
        for wait in ({}, {"waitSeconds": 1}):
            beat = {"memberEpoch": joined["memberEpoch"], **wait}
            shown = await succeed(client(name), "POST", f"{path}/heartbeat", beat)
            assert [each["topic"] for each in shown["assignment"]] == expected
        shown = await succeed(client(name), "PUT", path, {"topics": ["orders"]})
        assert {each["topic"] for each in shown["assignment"]} <= set(expected)
        joined = await succeed(admin, "POST", f"{path}/heartbeat", {"memberEpoch": shown["memberEpoch"]})
        assert [each["topic"] for each in joined["assignment"]] == ["orders"]

    with_tokens(test)

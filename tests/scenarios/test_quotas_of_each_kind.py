"""Each quota there is, over three gateways, on one node and on three: what is done is what the setting says, and it is
that quota that refuses. Without it all that is done here would be done several times as fast."""

from collections.abc import Awaitable, Callable
from hashlib import sha256

import pytest

from tests.support.quota_users import (
    Act,
    QuotaUsers,
    Units,
    one,
    read_at,
    receive_by,
    received,
    received_bytes,
    send_of,
    sent,
    token_of,
    tokens_of,
    with_users,
)

HELD_TO = 0.10
BODY = "x" * 98
"""With its quotes, 100 bytes."""

on_one_node_and_three = pytest.mark.parametrize("nodes", [1, 3])


async def orders(users: QuotaUsers, *, messages: int = 0, body: object = BODY, **config: int) -> None:
    """A topic with so many messages, each of a key of its own."""
    await users.admin("PUT", "/topics/orders", {"partitions": 3, "config": {}})
    for first in range(0, messages, 500):
        batch = [{"body": body, "key": f"k{number}"} for number in range(first, min(messages, first + 500))]
        await users.admin("POST", "/messages", {"queue": "orders", "messages": batch})
    if config:
        await users.admin("PATCH", "/topics/orders", {"config": config})
    await users.cluster.clock.sleep(1_000)


@on_one_node_and_three
@pytest.mark.parametrize(
    ("setting", "per_second", "act", "units"),
    [
        ("sendMessagesPerSecond", 30, send_of(1, 2), sent),
        ("sendBytesPerSecond", 3_000, send_of(BODY, BODY), lambda answer: 100 * sent(answer)),
        ("sendRequestsPerSecond", 15, send_of(1, 2, 3), one),
    ],
)
def test_a_topics(nodes: int, setting: str, per_second: int, act: Act, units: Units) -> None:
    async def main(users: QuotaUsers) -> None:
        await orders(users, **{setting: per_second})
        for gateway in range(3):
            users.begin("all", gateway, act, units=units)
        assert (await users.per_second())["all"] == pytest.approx(per_second, rel=HELD_TO)
        assert users.users["all"].refused_by == {f"topic/orders/{setting}"}

    with_users(main, nodes=nodes, tokens=tokens_of())


@pytest.mark.parametrize(("nodes", "mode"), [(1, "shared"), (3, "shared"), (3, "keyOrdered"), (3, "exclusive")])
@pytest.mark.parametrize(
    ("setting", "per_second", "most", "units"),
    [
        ("receiveMessagesPerSecond", 30, 5, received),
        ("receiveBytesPerSecond", 3_000, 5, received_bytes),
        ("receiveRequestsPerSecond", 15, 1, one),
    ],
)
def test_a_groups(nodes: int, mode: str, setting: str, per_second: int, most: int, units: Units) -> None:
    async def main(users: QuotaUsers) -> None:
        await orders(users, messages=400)
        await users.admin("PUT", "/groups/workers", {"mode": mode, "settings": {setting: per_second}})
        for gateway in range(3):
            users.begin("all", gateway, receive_by(f"c{gateway}", most=most), units=units)
        assert (await users.per_second(after_ms=3_000))["all"] == pytest.approx(per_second, rel=HELD_TO)
        assert users.users["all"].refused_by == {f"group/workers/{setting}"}

    with_users(main, nodes=nodes, tokens=tokens_of())


RECORDS = "/topics/orders/partitions/0/records?offset=0"
KEY = "/topics/table/keys/k"
BATCH = 4
Counted = tuple[Act, Units, Units]
"""What is done, and how many messages and bytes an answer to it is worth."""


async def sends(users: QuotaUsers) -> Counted:
    await orders(users)
    return send_of(BODY, BODY), sent, lambda answer: 100 * sent(answer)


async def receives(users: QuotaUsers) -> Counted:
    await orders(users, messages=300)
    return receive_by("c", most=2), received, received_bytes


async def records(users: QuotaUsers) -> Counted:
    """One batch, again and again: its bytes are as it is stored."""
    await orders(users)
    batch = [{"body": sha256(b"%d" % number).hexdigest(), "partition": 0} for number in range(BATCH)]
    await users.admin("POST", "/messages", {"queue": "orders", "messages": batch})
    topic = users.cluster.gateways[0].metadata.topic("orders")
    assert topic is not None
    stored = await users.cluster.records(users.cluster.state(topic).leader, topic)
    size_bytes = sum(map(len, stored))
    return read_at(RECORDS), lambda _: BATCH, lambda _: size_bytes


async def latest_values(users: QuotaUsers) -> Counted:
    await orders(users)
    await users.admin("PUT", "/topics/table", {"partitions": 1, "config": {"cleanupPolicy": "compact"}})
    await users.admin("POST", "/messages", {"queue": "table", "body": BODY, "key": "k"})
    return read_at(KEY), one, lambda _: 100


async def looks(users: QuotaUsers) -> Counted:
    await orders(users)
    answer = await users.admin("POST", "/messages", {"queue": "orders", "body": BODY})
    return read_at(f"/messages/{answer['messageId']}"), one, lambda _: 100


@pytest.mark.parametrize(
    ("nodes", "what"), [(1, sends), (3, sends), (3, receives), (1, records), (3, latest_values), (3, looks)]
)
@pytest.mark.parametrize("measure", ["requests", "messages", "bytes"])
def test_a_tokens(nodes: int, measure: str, what: Callable[[QuotaUsers], Awaitable[Counted]]) -> None:
    """Two tokens of one name have one quota, by whatever gateways they come. Others go on."""
    setting = f"{measure}PerSecond"
    per_second = {"requests": 15, "messages": 30, "bytes": 3_000}[measure]

    async def main(users: QuotaUsers) -> None:
        await users.admin("PUT", "/topics/others", {"partitions": 1})
        act, messages, size_bytes = await what(users)
        units = {"requests": one, "messages": messages, "bytes": size_bytes}[measure]
        for gateway, number in enumerate([0, 1, 1]):
            users.begin("shop", gateway, act, units=units, token=token_of("shop", number), pause_ms=40)
        users.begin("other", 0, send_of(1, queue="others"), units=one, pause_ms=100)
        found = await users.per_second(after_ms=3_000)
        assert found["shop"] == pytest.approx(per_second, rel=HELD_TO)
        assert users.users["shop"].refused_by == {f"token/shop/{setting}"}
        assert found["other"] >= 9

    with_users(main, nodes=nodes, tokens=tokens_of("shop", each=2, **{setting: per_second}))

"""Who shares a quota has the same of it, by however many gateways they come; and who is told when to come back finds
room then. On one node and on three, by three gateways."""

from itertools import pairwise

import httpx2
import pytest

from cluster.model.values import GroupMode
from tests.support.cluster import client_of
from tests.support.quota_users import (
    QuotaUsers,
    receive_by,
    received,
    send_of,
    sent,
    token_of,
    tokens_of,
    with_users,
)

PER_SECOND = 30
BACKLOG = 400
GREEDY_TWICE = (("greedy", 0), ("greedy", 1), ("modest", 2))
"""Who comes, by which gateway."""

on_one_node_and_three = pytest.mark.parametrize("nodes", [1, 3])


def both_have_half(found: dict[str, float]) -> None:
    assert found == pytest.approx({"greedy": PER_SECOND / 2, "modest": PER_SECOND / 2}, rel=0.1)


@on_one_node_and_three
def test_tokens_share_a_topic(nodes: int) -> None:
    async def main(users: QuotaUsers) -> None:
        config = {"sendMessagesPerSecond": PER_SECOND}
        await users.admin("PUT", "/topics/orders", {"partitions": 3, "config": config})
        for name, gateway in GREEDY_TWICE:
            users.begin(name, gateway, send_of(1, 2), units=sent, token=token_of(name))
        both_have_half(await users.per_second(after_ms=3_000))

    with_users(main, nodes=nodes, tokens=tokens_of("greedy", "modest"))


async def group_with_a_backlog(users: QuotaUsers, mode: str) -> None:
    await users.admin("PUT", "/topics/orders", {"partitions": 4})
    batch = [{"body": number, "key": f"k{number}"} for number in range(BACKLOG)]
    await users.admin("POST", "/messages", {"queue": "orders", "messages": batch})
    settings = {"receiveMessagesPerSecond": PER_SECOND}
    await users.admin("PUT", "/groups/workers", {"mode": mode, "settings": settings})


@on_one_node_and_three
@pytest.mark.parametrize("mode", [mode.value for mode in GroupMode])
def test_consumers_share_a_group(nodes: int, mode: str) -> None:
    async def main(users: QuotaUsers) -> None:
        await group_with_a_backlog(users, mode)
        for name, gateway in GREEDY_TWICE:
            users.begin(name, gateway, receive_by(name, most=2), units=received)
        both_have_half(await users.per_second(after_ms=4_000))

    with_users(main, nodes=nodes, tokens=tokens_of())


@on_one_node_and_three
def test_consumers_without_a_name_share_it_by_their_tokens(nodes: int) -> None:
    async def main(users: QuotaUsers) -> None:
        await group_with_a_backlog(users, "shared")
        for name, gateway in GREEDY_TWICE:
            users.begin(name, gateway, receive_by("", most=2), units=received, token=token_of(name))
        both_have_half(await users.per_second(after_ms=3_000))

    with_users(main, nodes=nodes, tokens=tokens_of("greedy", "modest"))


@on_one_node_and_three
@pytest.mark.parametrize("setting", ["sendMessagesPerSecond", "sendRequestsPerSecond"])
def test_who_comes_back_just_when_told_finds_room(nodes: int, setting: str) -> None:
    async def main(users: QuotaUsers) -> None:
        clock = users.cluster.clock
        await users.admin("PUT", "/topics/orders", {"config": {setting: 5}})
        end_ms = clock.monotonic_ms() + 15_000
        answers: list[list[tuple[int, httpx2.Response]]] = [[], [], []]

        async def obey(gateway: int) -> None:
            async with client_of(users.cluster.gateways[gateway], token=token_of("shop")) as client:
                while clock.monotonic_ms() < end_ms:
                    answer = await send_of(1)(client)
                    answers[gateway].append((clock.monotonic_ms(), answer))
                    if answer.status_code == 429:
                        wait_ms = answer.json()["retryAfterMs"]
                        assert wait_ms <= 1000 * int(answer.headers["retry-after"]) < wait_ms + 1000
                        await clock.sleep(wait_ms)

        await users.at_once(*(obey(gateway) for gateway in range(3)))
        settled_ms = end_ms - 11_000
        for each in answers:
            statuses = [answer.status_code for at, answer in each if at >= settled_ms]
            assert statuses.count(429) >= 10
            assert (429, 429) not in pairwise(statuses)
        accepted = sum(answer.status_code == 201 for each in answers for _, answer in each)
        assert accepted >= 15 * 5 * 0.9, "nobody waits for longer than there is need"

    with_users(main, nodes=nodes, tokens=tokens_of("shop"))

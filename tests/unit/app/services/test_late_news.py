"""A gateway that hears of others' changes late, or not at all. Whole nodes and gateways on virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import httpx2
import pytest

from app.processes.cluster_gateway import ClusterGateway
from cluster.model import keys
from cluster.ports.coordination import CoordinationUnavailableError
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.lagging_store import LaggingStore

LATE_MS = 300
TIMEOUT_MS = 2_000
PARTITIONS = 4
MESSAGES = [{"body": number, "partition": 2} for number in range(4)]


class Gateway(NamedTuple):
    store: LaggingStore
    gateway: ClusterGateway
    client: httpx2.AsyncClient

    async def ask(self, method: str, target: str, body: Any = None) -> httpx2.Response:
        return await self.client.request(method, target, json=body)


@asynccontextmanager
async def gateway_of(cluster: Cluster, **settings: Any) -> AsyncIterator[Gateway]:
    store = LaggingStore(cluster.store)
    gateway = await cluster.gateway(connection=store, **settings)
    store.asked.clear()
    async with client_of(gateway) as client:
        yield Gateway(store, gateway, client)
    await cluster.end(gateway)


@asynccontextmanager
async def two_gateways(cluster: Cluster, *, nodes: int = 1, **settings: Any) -> AsyncIterator[list[Gateway]]:
    """The second one is told nothing from here on."""
    await cluster.start(*range(1, nodes + 1))
    async with gateway_of(cluster) as first, gateway_of(cluster, **settings) as second:
        await cluster.until(lambda: len(second.gateway.metadata.nodes()) == nodes)
        second.store.news.shut()
        yield [first, second]


async def told_later(gateway: Gateway, request: Any, *, after_ms: int = LATE_MS) -> httpx2.Response:
    """The answer, where the gateway hears of everything so much later than it is asked."""
    asking = asyncio.ensure_future(request)
    await asyncio.sleep(after_ms / 1000)
    gateway.store.news.open()
    answer: httpx2.Response = await asking
    return answer


async def done(request: Any) -> Any:
    answer: httpx2.Response = await request
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


async def make_orders(first: Gateway) -> dict[str, str]:
    """A topic, a group that leases, and what of it a client may name."""
    await done(first.ask("PUT", "/topics/orders", {"partitions": PARTITIONS}))
    await done(first.ask("PUT", "/groups/billing", {}))
    await done(first.ask("POST", "/messages", {"queue": "orders", "messages": MESSAGES}))
    leased = await done(first.ask("GET", "/messages?queue=orders&group=billing&max=3"))
    return {
        "messageId": leased["messages"][0]["messageId"],
        "receipt": leased["messages"][1]["receipt"],
        "other": leased["messages"][2]["receipt"],
    }


def is_refusal(answer: httpx2.Response) -> bool:
    problem = answer.json()
    return (
        (answer.status_code, problem["code"], problem["retriable"]) == (503, "UNAVAILABLE", True)
        and answer.headers["Retry-After"] == "1"
        and "cannot be known now" in problem["detail"]
    )


# --- names that another gateway has just made ------------------------------------------------------------------------

CALLS: list[tuple[str, str, Any]] = [
    ("POST", "/messages", {"queue": "orders", "body": 1}),
    ("POST", "/messages", {"queue": "orders", "messages": [{"body": 1}, {"body": 2, "partition": 3}]}),
    ("GET", "/messages?queue=orders&group=billing", None),
    ("GET", "/messages/{messageId}", None),
    ("POST", "/ack", {"receipt": "{receipt}"}),
    ("POST", "/ack", {"messageId": "{messageId}", "group": "billing"}),
    ("POST", "/extend", {"receipt": "{other}", "visibilitySeconds": 60}),
    ("POST", "/nack", {"receipts": ["{other}"]}),
    ("GET", "/topics/orders/partitions/2/records", None),
    ("GET", "/topics/orders", None),
    ("GET", "/topics/orders/partitions/2", None),
    ("PUT", "/topics/orders", {}),
    ("PUT", "/topics/orders/decommissioned", {"partitions": [0]}),
    ("GET", "/groups/billing", None),
    ("PUT", "/groups/billing", {}),
    ("PATCH", "/topics/orders", {}),
    ("PATCH", "/groups/billing", {}),
    ("GET", "/groups/billing/offsets?topic=orders", None),
    ("PUT", "/groups/billing/offsets", {"topic": "orders", "to": "earliest", "partition": 1, "dryRun": True}),
    ("POST", "/cluster/plan", {"moves": [{"topic": "orders", "partition": 0, "replicas": [1]}]}),
    ("DELETE", "/groups/billing", None),
    ("DELETE", "/topics/orders", None),
]


def filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: filled(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, names) for each in value]
    return value.format(**names) if isinstance(value, str) else value


async def answers_of_late_gateways(
    cluster: Cluster, *, hears_after_ms: int | None, **settings: Any
) -> list[tuple[httpx2.Response, int]]:
    """What each call is answered by a gateway of its own, and after how long. None: nothing comes from the store."""
    async with AsyncExitStack() as stack:
        await cluster.start(1)
        first = await stack.enter_async_context(gateway_of(cluster))
        late = [await stack.enter_async_context(gateway_of(cluster, **settings)) for _ in CALLS]
        for gateway in late:
            gateway.store.news.shut()
        names = await make_orders(first)
        found = []
        for gateway, (method, target, body) in zip(late, CALLS, strict=True):
            if hears_after_ms is None:
                gateway.store.answers.shut()
            begun_ms = cluster.clock.monotonic_ms()
            asking = asyncio.ensure_future(gateway.ask(method, target.format(**names), filled(body, names)))
            if hears_after_ms is not None:
                await asyncio.sleep(hears_after_ms / 1000)
                gateway.store.news.open()
            found.append((await asking, cluster.clock.monotonic_ms() - begun_ms))
        return found


def test_what_another_gateway_has_just_made_is_served() -> None:
    async def main(cluster: Cluster) -> None:
        for call, (answer, _) in zip(
            CALLS, await answers_of_late_gateways(cluster, hears_after_ms=LATE_MS), strict=True
        ):
            assert answer.status_code in {200, 201, 204}, (call, answer.text)

    ClusterBuilder().run(main)


@pytest.mark.parametrize(
    ("settings", "limit_ms"),
    [
        ({}, TIMEOUT_MS),
        ({"catalog_confirm_timeout_ms": 500}, 500),
        ({"catalog_confirm_timeout_ms": 60_000, "request_timeout_ms": 700}, 700),
    ],
)
def test_nobody_knows_what_the_store_does_not_say(settings: dict[str, int], limit_ms: int) -> None:
    async def main(cluster: Cluster) -> None:
        answers = await answers_of_late_gateways(cluster, hears_after_ms=None, **settings)
        for call, (answer, took_ms) in zip(CALLS, answers, strict=True):
            assert is_refusal(answer), (call, answer.text)
            assert f"{limit_ms:,} ms" in answer.json()["detail"]
            assert limit_ms <= took_ms <= limit_ms + 5, call

    ClusterBuilder().run(main)


@pytest.mark.parametrize(("hears_after_ms", "is_served"), [(TIMEOUT_MS - 1, True), (TIMEOUT_MS + 1, False)])
def test_news_are_waited_for_until_the_limit(hears_after_ms: int, is_served: bool) -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            await make_orders(first)
            target = "/messages?queue=orders&group=billing"
            answer = await told_later(second, second.ask("GET", target), after_ms=hears_after_ms)
            assert (answer.status_code == 200) if is_served else is_refusal(answer)

    ClusterBuilder().run(main)


def test_a_store_that_refuses_is_not_waited_for() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            await make_orders(first)
            begun_ms = cluster.clock.monotonic_ms()
            second.store.before["get"] = [CoordinationUnavailableError("no leader")]
            answer = await second.ask("GET", "/messages?queue=orders&group=billing")
            assert is_refusal(answer)
            assert "no leader" in answer.json()["detail"]
            assert cluster.clock.monotonic_ms() == begun_ms

    ClusterBuilder().run(main)


def test_names_that_nobody_made_are_asked_for_once() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster, auto_create_topics=False, auto_create_groups=False) as (first, second):
            names = await make_orders(first)
            topic = await first.ask("GET", "/topics/orders")
            await done(first.ask("DELETE", "/topics/orders"))
            place = [keys.partition(topic.json()["id"], 2)]
            await cluster.until(lambda: first.gateway.metadata.revision_of(place[0]) == 0)  # the controller removed it
            for method, target, body, code, asked in [
                ("POST", "/messages", {"queue": "ordres", "body": 1}, "TOPIC_NOT_FOUND", [keys.topic("ordres")]),
                ("GET", "/messages?queue=ordres&group=billing", None, "TOPIC_NOT_FOUND", [keys.topic("ordres")]),
                ("GET", "/groups/biling", None, "GROUP_NOT_FOUND", [keys.group("biling")]),
                ("GET", "/groups/no+name", None, "INVALID_NAME", []),
                ("POST", "/messages", {"queue": "no name", "body": 1}, "INVALID_NAME", []),
                ("POST", "/ack", {"receipt": names["receipt"]}, "TOPIC_NOT_FOUND", place),
                ("POST", "/ack", {"messageId": names["messageId"]}, "TOPIC_NOT_FOUND", place),
                ("GET", f"/messages/{names['messageId']}", None, "TOPIC_NOT_FOUND", place),
            ]:
                answer = await second.ask(method, target, body)
                assert answer.json()["code"] == code, answer.text
                assert second.store.asked == asked
                second.store.asked.clear()

    ClusterBuilder().run(main)


def test_known_names_are_not_asked_for() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            names = await make_orders(first)
            await told_later(second, second.ask("GET", "/messages?queue=orders&group=billing"))
            second.store.asked.clear()
            second.store.answers.shut()
            for method, target, body in CALLS:
                if method not in {"PUT", "PATCH", "DELETE"}:
                    await done(second.ask(method, target.format(**names), filled(body, names)))
            assert second.store.asked == []

    ClusterBuilder().run(main)


# --- settling --------------------------------------------------------------------------------------------------------


def test_a_thousand_receipts_ask_once_per_partition() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            await done(first.ask("PUT", "/topics/orders", {"partitions": PARTITIONS}))
            messages = [{"body": number, "partition": number % PARTITIONS} for number in range(1_000)]
            await done(first.ask("POST", "/messages", {"queue": "orders", "messages": messages}))
            receipts: list[str] = []
            while len(receipts) < 1_000:
                leased = await done(first.ask("GET", "/messages?queue=orders&group=billing&max=1000"))
                receipts += [message["receipt"] for message in leased["messages"]]
            acked = await told_later(second, second.ask("POST", "/ack", {"receipts": receipts}))
            assert acked.status_code == 200, acked.text
            assert len(second.store.asked) == PARTITIONS
            assert len(set(second.store.asked)) == PARTITIONS

    ClusterBuilder().run(main)


def test_what_is_known_is_settled_while_nobody_knows_of_the_rest() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            names = await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.topic("orders") is not None)
            second.store.news.shut()
            await done(first.ask("PUT", "/topics/late", {"partitions": 70}))
            messages = [{"body": number, "partition": number} for number in range(70)]
            await done(first.ask("POST", "/messages", {"queue": "late", "messages": messages}))
            leased = await done(first.ask("GET", "/messages?queue=late&group=billing&max=70"))
            late = [message["receipt"] for message in leased["messages"]]
            second.store.answers.shut()
            begun_ms = cluster.clock.monotonic_ms()
            answer = await second.ask("POST", "/ack", {"receipts": [*late[:35], names["receipt"], *late[35:]]})
            assert answer.status_code == 207
            results = answer.json()["results"]
            assert [index for index, result in enumerate(results) if result.get("status") == "acknowledged"] == [35]
            assert {result.get("code") for result in results} == {None, "UNAVAILABLE"}
            assert answer.json()["failed"] == 70
            assert cluster.clock.monotonic_ms() - begun_ms <= TIMEOUT_MS + 5, "all share the time of one"

    ClusterBuilder().run(main)


def test_a_group_that_nobody_knows_of_fails_every_message_id_at_once() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            names = await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.topic("orders") is not None)
            second.store.news.shut()
            second.store.asked.clear()
            body = {"messageIds": [names["messageId"]] * 10, "group": "nobodys"}
            answer = await second.ask("POST", "/ack", body)
            assert (answer.status_code, answer.json()["code"]) == (404, "GROUP_NOT_FOUND")
            assert second.store.asked == [keys.group("nobodys")]
            second.store.answers.shut()
            assert is_refusal(await second.ask("POST", "/ack", body))

    ClusterBuilder().run(main)


# --- partitions and replicas that another gateway has just added -----------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/messages", {"queue": "orders", "body": 1, "partition": 7}),
        ("POST", "/messages", {"queue": "orders", "messages": [{"body": 1}, {"body": 2, "partition": 7}]}),
        ("GET", "/topics/orders/partitions/7", None),
        ("GET", "/topics/orders/partitions/7/records", None),
        ("PUT", "/groups/billing/offsets", {"topic": "orders", "to": "earliest", "partition": 7, "dryRun": True}),
        ("GET", "/messages/{messageId}", None),
        ("POST", "/ack", {"messageId": "{messageId}", "group": "billing"}),
    ],
)
def test_partitions_that_another_gateway_has_just_added(method: str, target: str, body: Any) -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.group("billing") is not None)
            second.store.news.shut()
            if "messageId" not in f"{target}{body}":
                missing = await second.ask(method, target, body)
                assert "PARTITION_NOT_FOUND" in missing.text, missing.text
            await done(first.ask("PATCH", "/topics/orders", {"partitions": 8}))
            stored = await done(first.ask("POST", "/messages", {"queue": "orders", "body": 1, "partition": 7}))
            await done(first.ask("GET", "/messages?queue=orders&group=billing&max=10"))
            names = {"messageId": stored["messageId"]}
            request = method, target.format(**names), filled(body, names)
            second.store.answers.shut()
            assert is_refusal(await second.ask(*request))
            second.store.answers.open()
            answer = await told_later(second, second.ask(*request))
            assert answer.status_code in {200, 201}, answer.text

    ClusterBuilder().run(main)


def test_replicas_that_another_gateway_has_just_asked_for() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster, nodes=2) as (first, second):
            second.store.news.open()
            await done(first.ask("PUT", "/topics/orders", {"partitions": 1, "replicationFactor": 1}))
            await cluster.until(lambda: second.gateway.metadata.topic("orders") is not None)
            second.store.news.shut()
            send = "POST", "/messages?acks=2", {"queue": "orders", "body": 1}
            refused = await second.ask(*send)
            assert (refused.status_code, refused.json()["field"]) == (400, "acks")
            await done(first.ask("PATCH", "/topics/orders", {"replicationFactor": 2}))
            answer = await told_later(second, second.ask(*send))
            assert answer.status_code != 400, answer.text

    ClusterBuilder().run(main)


# --- nodes that have just registered ---------------------------------------------------------------------------------


@asynccontextmanager
async def three_nodes_unheard_of(cluster: Cluster, **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway that has heard of node 1 only."""
    await cluster.start(1)
    async with gateway_of(cluster, **settings) as gateway:
        await cluster.until(gateway.gateway.metadata.nodes)
        await done(gateway.ask("PUT", "/topics/early", {"replicationFactor": 1, "partitions": 1}))
        await cluster.until(lambda: gateway.gateway.metadata.partitions(early(gateway)))
        gateway.store.news.shut()
        await cluster.start(2, 3)
        yield gateway


def early(gateway: Gateway) -> str:
    topic = gateway.gateway.metadata.topic("early")
    assert topic is not None
    return topic.id


@pytest.mark.parametrize(
    ("method", "target", "body", "topic"),
    [
        ("PUT", "/topics/orders", {"replicationFactor": 3}, "orders"),
        ("PUT", "/topics/orders", {}, "orders"),
        ("POST", "/messages", {"queue": "orders", "body": 1}, "orders"),
        ("PATCH", "/topics/early", {"replicationFactor": 3}, "early"),
    ],
)
def test_a_topic_counts_on_nodes_that_have_just_registered(method: str, target: str, body: Any, topic: str) -> None:
    async def main(cluster: Cluster) -> None:
        async with three_nodes_unheard_of(cluster) as gateway:
            gateway.store.answers.shut()
            assert is_refusal(await gateway.ask(method, target, body))
            gateway.store.answers.open()
            gateway.store.before["list"] = [CoordinationUnavailableError("no leader")]
            assert is_refusal(await gateway.ask(method, target, body))
            answer = await told_later(gateway, gateway.ask(method, target, body))
            assert answer.status_code in {200, 201}, answer.text
            assert (await done(gateway.ask("GET", f"/topics/{topic}")))["replicationFactor"] == 3

    ClusterBuilder().run(main)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/cluster/plan", {"drain": [3]}),
        ("POST", "/cluster/plan", {"lost": [3]}),
        ("POST", "/cluster/plan", {"moves": [{"topic": "early", "partition": 0, "replicas": [3]}]}),
        ("PUT", "/cluster/nodes/3/drain", None),
        ("PUT", "/cluster/moves/early/0", {"replicas": [3]}),
    ],
)
def test_operators_may_name_nodes_that_have_just_registered(method: str, target: str, body: Any) -> None:
    async def main(cluster: Cluster) -> None:
        async with three_nodes_unheard_of(cluster) as gateway:
            gateway.store.answers.shut()
            assert is_refusal(await gateway.ask(method, target, body))
            gateway.store.answers.open()
            answer = await told_later(gateway, gateway.ask(method, target, body))
            assert answer.status_code in {200, 202}, answer.text

    ClusterBuilder().run(main)


# --- putting what another gateway has just put -----------------------------------------------------------------------


async def put_late(second: Gateway, target: str, body: Any) -> httpx2.Response:
    return await told_later(second, second.ask("PUT", target, body))


async def patch_late(second: Gateway, target: str, body: Any) -> httpx2.Response:
    return await told_later(second, second.ask("PATCH", target, body))


def test_a_patch_changes_what_another_gateway_has_just_made() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            fields = {"partitions": 3, "config": {"segmentBytes": 1 << 20}}
            await done(first.ask("PUT", "/topics/orders", fields))
            refused = await put_late(second, "/topics/orders", {"partitions": 4})
            assert (refused.status_code, refused.json()["code"]) == (409, "TOPIC_EXISTS")
            again = await patch_late(second, "/topics/orders", {"config": {"retentionMs": -1}})
            assert again.status_code == 200, again.text
            assert again.json()["partitions"] == 3
            assert again.json()["config"]["segmentBytes"] == 1 << 20
            assert again.json()["config"]["retentionMs"] == -1

    ClusterBuilder().run(main)


def test_a_patch_undoes_nothing_that_another_gateway_has_just_changed() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.group("billing") is not None)
            second.store.news.shut()
            await done(first.ask("PATCH", "/topics/orders", {"partitions": 8, "config": {"segmentBytes": 1 << 29}}))
            await done(first.ask("PATCH", "/groups/billing", {"settings": {"maxAttempts": 7}}))
            group = await patch_late(second, "/groups/billing", {"settings": {"visibilityMs": 9_000}})
            assert group.json()["settings"]["maxAttempts"] == 7
            assert group.json()["settings"]["visibilityMs"] == 9_000
            second.store.news.shut()
            await done(first.ask("PATCH", "/topics/orders", {"config": {"segmentBytes": 1 << 30}}))
            topic = await patch_late(second, "/topics/orders", {"config": {"retentionMs": -1}})
            assert topic.json()["config"]["segmentBytes"] == 1 << 30

    ClusterBuilder().run(main)


def test_a_patch_does_not_take_what_another_gateway_has_just_grown_for_what_it_was() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.topic("orders") is not None)
            second.store.news.shut()
            await done(first.ask("PATCH", "/topics/orders", {"partitions": 8}))
            answer = await patch_late(second, "/topics/orders", {"partitions": PARTITIONS})
            assert (answer.status_code, answer.json()["field"]) == (400, "partitions")

    ClusterBuilder().run(main)


def test_a_put_makes_what_another_gateway_has_just_deleted() -> None:
    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.group("billing") is not None)
            second.store.news.shut()
            before = second.gateway.metadata.topic("orders")
            await done(first.ask("DELETE", "/topics/orders"))
            await done(first.ask("DELETE", "/groups/billing"))
            topic = await put_late(second, "/topics/orders", {"partitions": 2})
            assert topic.status_code == 201
            assert before is not None
            assert topic.json()["id"] != before.id
            group = await done(second.ask("PUT", "/groups/billing", {}))
            assert group["name"] == "billing"
            assert (await done(first.ask("GET", "/topics/orders")))["id"] == topic.json()["id"]

    ClusterBuilder().run(main)


def test_a_topic_that_is_deleted_after_its_leader_changed_is_not_found() -> None:
    """A gateway that has heard of neither asks for the leader epoch of a receipt, and there is none any more."""

    async def main(cluster: Cluster) -> None:
        async with two_gateways(cluster) as (first, second):
            second.store.news.open()
            await make_orders(first)
            await cluster.until(lambda: second.gateway.metadata.topic("orders") is not None)
            second.store.news.shut()
            topic = first.gateway.metadata.topic("orders")
            assert topic is not None
            await cluster.stop(1)
            await cluster.start(1)
            await cluster.until(lambda: first.gateway.metadata.partition(topic.id, 2).leader_epoch == 2)
            leased = await done(first.ask("GET", "/messages?queue=orders&group=billing&waitSeconds=20"))
            await done(first.ask("DELETE", "/topics/orders"))
            body = {"receipt": leased["messages"][0]["receipt"]}
            answer = await told_later(second, second.ask("POST", "/ack", body))
            assert (answer.status_code, answer.json()["code"]) == (404, "TOPIC_NOT_FOUND"), answer.text

    ClusterBuilder().run(main)


# --- nodes that hear late --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("GET", "/messages?queue=orders&group=billing", None),
        ("GET", "/messages?queue=orders&group=billing&waitSeconds=20", None),
        ("POST", "/ack", {"messageId": "{messageId}", "group": "billing"}),
        ("PUT", "/groups/billing/offsets", {"topic": "orders", "to": "earliest"}),
    ],
)
def test_a_group_that_a_node_has_not_heard_of_is_not_unknown(
    method: str, target: str, body: Any, is_told: bool
) -> None:
    """It has no contact to the store: its own wait for news is over before there are any."""

    async def main(cluster: Cluster) -> None:
        store = LaggingStore(cluster.store)
        await cluster.node(1, connection=store)
        async with gateway_of(cluster) as gateway:
            await done(gateway.ask("PUT", "/topics/orders", {"partitions": 1}))
            stored = await done(gateway.ask("POST", "/messages", {"queue": "orders", "body": 1}))
            await done(gateway.ask("GET", "/messages?queue=orders&group=other"))
            store.news.shut()
            await done(gateway.ask("PUT", "/groups/billing", {}))
            asking = asyncio.ensure_future(gateway.ask(method, target, filled(body, stored)))
            await asyncio.sleep(3)
            if is_told:
                store.news.open()
            answer = await asking
            if not is_told:
                assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE"), answer.text
            elif method == "POST":
                assert answer.json()["code"] == "NOT_DELIVERED"
            else:
                assert answer.status_code == 200, answer.text
            await done(gateway.ask("DELETE", "/groups/billing"))
            store.news.open()

    ClusterBuilder().run(main)

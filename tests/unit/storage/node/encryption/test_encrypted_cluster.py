"""Encrypted topics of three nodes: the same bytes on each, whoever leads, and keys that all of them know."""

import json

import pytest

from acklog.wire.log_page import runs
from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from cluster.errors import ServerError
from cluster.model.data_keys import DATA_KEYS_MAX
from cluster.model.values import Encryption, NodeRegistration, Topic
from storage.encryption.master_key import NO_MASTER_KEYS, MasterKeys
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.encrypted_node import master_key


def with_cluster(main: object, *, gateways: int = 0) -> None:
    async def run(cluster: Cluster) -> None:
        cluster.master_keys = MasterKeys(master_key())
        await cluster.start(1, 2, 3)
        await cluster.until(lambda: len(cluster.nodes[1].metadata.nodes()) == 3)
        for _ in range(gateways):
            await cluster.gateway()
        await cluster.until(lambda: all(len(each.metadata.nodes()) == 3 for each in cluster.gateways))
        await main(cluster)  # type: ignore[operator]

    ClusterBuilder().run(run)


async def bodies(cluster: Cluster, node_id: int, topic: Topic) -> list[bytes]:
    page = b"".join(await cluster.records(node_id, topic))
    return [record.body for _, _, records in runs(page, 0) for record in records]


def files_of(cluster: Cluster, node_id: int, topic_id: str) -> dict[str, bytes]:
    files = cluster.disks[node_id].files()
    return {path: content for path, content in files.items() if topic_id in path and path.endswith(".log")}


def test_followers_have_the_leaders_bytes_and_lead_on_by_them() -> None:
    async def main(cluster: Cluster) -> None:
        topic, group = await cluster.topic(encryption=Encryption.ON), await cluster.group()
        for number in range(5):
            await cluster.send(topic, b"%d to hide" % number)
        delivered = await cluster.receive(topic, group)
        assert await cluster.ack(topic, group, delivered[:2])
        await cluster.in_sync(topic)
        leader = cluster.state(topic).leader
        await cluster.stop(leader)
        await cluster.until(lambda: cluster.state(topic).leader not in {-1, leader})
        await cluster.send(topic, b"5 to hide")
        assert [each.record.body for each in await cluster.receive(topic, group)] == [
            b"%d to hide" % number for number in range(2, 6)
        ]
        await cluster.start(leader)
        await cluster.in_sync(topic)
        for node_id in (1, 2, 3):
            assert await bodies(cluster, node_id, topic) == [b"%d to hide" % number for number in range(6)]
        await cluster.stop(1, 2, 3)
        files = [files_of(cluster, node_id, topic.id) for node_id in (1, 2, 3)]
        assert files[0] == files[1] == files[2]
        assert any(files[0].values())
        assert not any(b"to hide" in content for each in cluster.disks.values() for content in each.files().values())

    with_cluster(main)


def test_a_wiped_node_gets_all_of_it_from_the_others() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(encryption=Encryption.ON)
        for number in range(20):
            await cluster.send(topic, b"%d to hide" % number)
        await cluster.stop(3)
        await cluster.wipe(3)
        await cluster.start(3)
        await cluster.in_sync(topic)
        assert await bodies(cluster, 3, topic) == [b"%d to hide" % number for number in range(20)]
        assert not any(b"to hide" in content for content in cluster.disks[3].files().values())

    with_cluster(main)


def test_a_node_without_the_master_key_does_not_start() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(encryption=Encryption.ON)
        await cluster.send(topic, b"1")
        await cluster.stop(3)
        for keys in (NO_MASTER_KEYS, MasterKeys(master_key("another"))):
            cluster.master_keys = keys
            with pytest.raises(ServerError) as refused:
                await cluster.start(3)
            assert refused.value.code is ProblemCode.NO_MASTER_KEY
            assert f"orders is encrypted by the master key {master_key().id}" in refused.value.detail
        await cluster.send(topic, b"2")
        cluster.master_keys = MasterKeys(master_key())
        await cluster.start(3)
        await cluster.in_sync(topic)
        assert await bodies(cluster, 3, topic) == [b"1", b"2"]

    with_cluster(main)


def test_it_is_refused_while_a_node_has_no_master_key() -> None:
    async def main(cluster: Cluster) -> None:
        clear = await cluster.topic("clear")
        await cluster.stop(3)
        cluster.master_keys = NO_MASTER_KEYS
        await cluster.start(3)
        admin = cluster.nodes[1]
        await cluster.until(lambda: _registration(admin.metadata.nodes(), 3) == ())
        with pytest.raises(ServerError) as refused:
            await cluster.topic(encryption=Encryption.ON)
        assert refused.value.code is ProblemCode.NO_MASTER_KEY
        assert "node 3 has none" in refused.value.detail
        await cluster.send(clear, b"1")

    with_cluster(main)


def _registration(nodes: list[NodeRegistration], node_id: int) -> tuple[str, ...] | None:
    return next((each.master_keys for each in nodes if each.node_id == node_id), None)


def test_the_master_key_is_changed_node_by_node_and_messages_go_on() -> None:
    async def main(cluster: Cluster) -> None:
        topic = await cluster.topic(encryption=Encryption.ON)
        sent = 0
        old, new = master_key(), master_key("second")
        for keys in (MasterKeys(new, old), MasterKeys(new)):
            for node_id in (1, 2, 3):
                await cluster.stop(node_id)
                cluster.master_keys = keys
                await cluster.start(node_id)
                await cluster.in_sync(topic)
                await cluster.send(topic, b"%d" % sent)
                midway = await cluster.topic(f"midway-{sent}", encryption=Encryption.ON)
                await cluster.send(midway, b"1")
                await cluster.in_sync(midway)
                sent += 1
            await cluster.until(lambda: _wrapped_by(cluster) == {new.id})
        assert await bodies(cluster, cluster.state(topic).leader, topic) == [b"%d" % number for number in range(sent)]

    with_cluster(main)


def _wrapped_by(cluster: Cluster) -> set[str]:
    topic = cluster.nodes[1].metadata.topic("orders")
    return set() if topic is None else {each.master_key for each in topic.data_keys}


def test_over_http() -> None:
    async def main(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            made = await client.put("/topics/payments", json={"partitions": 2, "config": {"encryption": "on"}})
            assert (made.status_code, made.json()["config"]["encryption"]) == (201, "on")
            assert "wrapped" not in made.text
            sent = await client.post("/messages", json={"queue": "payments", "body": "to hide", "key": "k"})
            assert sent.status_code == 201
            wrong = await client.patch("/topics/payments", json={"config": {"encryption": "yes"}})
            assert (wrong.status_code, wrong.json()["code"]) == (400, "INVALID_FIELD")
            state = (await client.get("/topics/payments/encryption")).json()
            assert (state["encryption"], state["dataKeysWanted"]) == ("on", 1)
            assert state["dataKeys"][0]["masterKey"] == master_key().id
            assert [each["masterKeys"] for each in state["nodes"]] == [[master_key().id]] * 3
            rotated = await client.post("/topics/payments/encryption/rotate")
            assert (rotated.status_code, rotated.json()["dataKeysWanted"]) == (202, 2)
            await client.put("/topics/clear")
            refused = await client.post("/topics/clear/encryption/rotate")
            assert (refused.status_code, refused.json()["code"]) == (409, "NOT_ENCRYPTED")
            assert (await client.get("/topics/none/encryption")).status_code == 404
            described = await client.get("/topics/payments")
            assert "wrapped" not in described.text
            page = await client.get(f"/topics/payments/partitions/{sent.json()['partition']}/records?offset=0")
            assert page.json()["records"][0]["body"] == "to hide"

    with_cluster(main, gateways=1)


def test_nodes_and_master_keys_are_for_who_may_look_on_the_cluster() -> None:
    tenant = [{"allow": ["look", "manage", "send"], "topics": ["payments"]}]
    entries = [
        {"name": "admin", "token": "an-admin-token-0123456789", "roles": ["admin"]},
        {"name": "tenant", "token": "a-tenant-token-0123456789", "rights": tenant},
    ]
    tokens = parse_token_table(json.dumps({"tokens": entries}).encode())

    async def main(cluster: Cluster) -> None:
        gateway = await cluster.gateway(tokens=tokens)
        await cluster.until(lambda: len(gateway.metadata.nodes()) == 3)
        async with client_of(gateway, token="an-admin-token-0123456789") as client:
            made = await client.put("/topics/payments", json={"partitions": 1, "config": {"encryption": "on"}})
            assert made.status_code == 201
            await cluster.until(lambda: gateway.metadata.topic("payments").data_keys)  # type: ignore[union-attr]
            shown = (await client.get("/topics/payments/encryption")).json()
            assert (shown["dataKeys"][0]["masterKey"], len(shown["nodes"])) == (master_key().id, 3)
        async with client_of(gateway, token="a-tenant-token-0123456789") as client:
            for answer in (
                await client.get("/topics/payments/encryption"),
                await client.post("/topics/payments/encryption/rotate"),
            ):
                assert answer.json()["nodes"] == []
                assert [each["number"] for each in answer.json()["dataKeys"]] == [1]
                assert master_key().id not in answer.text

    with_cluster(main)


def test_dead_letters_are_sent_back_from_one_encrypted_topic_to_the_other() -> None:
    async def main(cluster: Cluster) -> None:
        async with client_of(cluster.gateways[0]) as client:
            await client.put("/topics/payments", json={"partitions": 1, "config": {"encryption": "on"}})
            await client.put("/groups/workers", json={"settings": {"maxAttempts": 1}})
            await client.post("/messages", json={"queue": "payments", "body": "to hide", "key": "k to hide"})
            receive = "/messages?queue=payments&group=workers&waitSeconds=20"
            [got] = (await client.get(receive)).json()["messages"]
            await client.post("/nack", json={"receipt": got["receipt"], "reason": "why to hide"})
            await cluster.until(lambda: cluster.gateways[0].metadata.topic("payments.workers.dlq"))
            letters = (await client.get("/topics/payments.workers.dlq")).json()
            assert letters["config"]["encryption"] == "on"
            await cluster.clock.sleep(5_000)
            job = await client.post("/groups/workers/redrive", json={"topic": "payments.workers.dlq"})
            assert job.status_code in {201, 202}, job.text
            [again] = (await client.get(receive)).json()["messages"]
            assert (again["body"], again["key"]) == ("to hide", "k to hide")
        await cluster.stop(1, 2, 3)
        assert not any(b"to hide" in content for each in cluster.disks.values() for content in each.files().values())

    with_cluster(main, gateways=1)


def test_a_topic_has_so_many_data_keys() -> None:
    async def main(cluster: Cluster) -> None:
        await cluster.topic(encryption=Encryption.ON)
        topics = cluster.gateways[0].gateway.topics
        for _ in range(DATA_KEYS_MAX - 1):
            await topics.rotate_data_key("orders")
        with pytest.raises(ServerError) as refused:
            await topics.rotate_data_key("orders")
        assert refused.value.code is ProblemCode.TOO_MANY_DATA_KEYS
        await cluster.until(lambda: _numbers(cluster) == list(range(1, DATA_KEYS_MAX + 1)))

    with_cluster(main, gateways=1)


def _numbers(cluster: Cluster) -> list[int]:
    topic = cluster.nodes[1].metadata.topic("orders")
    return [] if topic is None else [each.number for each in topic.data_keys]

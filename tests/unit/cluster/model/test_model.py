"""What earlier versions wrote is read, and what is written is no longer than it must be."""

import msgspec
import pytest

from cluster.model.codec import decode, encode, encode_instead
from cluster.model.values import (
    Group,
    GroupSettings,
    NodeRegistration,
    PartitionLife,
    PartitionState,
    Topic,
    TopicConfig,
)

OLD_PARTITION = (
    b'{"topicId":"t","partition":3,"replicas":[1],"isr":[1],"leader":1,"leaderIncarnation":4,"leaderEpoch":9}'
)
OLD_TOPIC = (
    b'{"id":"t","name":"orders","partitions":8,"replicationFactor":1,"createdAtMs":5,"config":{"retention":"time",'
    b'"retentionMs":604800000,"retentionBytes":-1,"segmentBytes":134217728,"dedupWindowMs":300000,'
    b'"minInsyncReplicas":1,"maxReplicaLagMs":10000}}'
)
OLD_NODE = b'{"nodeId":1,"incarnation":4,"directoryId":"d","address":"embedded","rack":""}'


def test_old_values_are_read() -> None:
    state = decode(PartitionState, OLD_PARTITION)
    assert state == PartitionState("t", 3, (1,), (1,), 1, 4, 9)
    assert (state.partition_epoch, state.directory_of(1), state.target) == (0, "", (1,))
    assert (state.life, state.is_moving) == (PartitionLife.ACTIVE, False)
    assert decode(Topic, OLD_TOPIC) == Topic("t", "orders", 8, 1, 5)
    assert decode(NodeRegistration, OLD_NODE) == NodeRegistration(1, 4, "d", "embedded")


def test_what_is_new_is_written_only_where_it_matters() -> None:
    assert encode(decode(PartitionState, OLD_PARTITION)) == OLD_PARTITION


def test_every_field_survives() -> None:
    state = PartitionState(
        "t",
        0,
        (1, 4, 2),
        (1, 2),
        1,
        3,
        7,
        partition_epoch=12,
        directories=("a", "d", "b"),
        adding=(4,),
        removing=(2,),
        life=PartitionLife.DECOMMISSIONED,
    )
    assert decode(PartitionState, encode(state)) == state
    assert state.target == (1, 4)
    assert state.directory_of(4) == "d"
    assert state.directory_of(9) == ""
    topic = Topic("t", "orders", 8, 1, 5, decommissioned=(1, 7))
    assert decode(Topic, encode(topic)) == topic


STORED = [
    Topic("0123456789abc", "orders", 3, 2, 5, TopicConfig(retention_ms=7)),
    PartitionState("0123456789abc", 1, (1, 2), (1,), 1, 7, 3),
    Group("1123456789abc", "workers", 5, settings=GroupSettings(max_attempts=3)),
    Group("1123456789abc", "workers", 5, dead_letter_sources=("a.*", "b")),
    NodeRegistration(node_id=1, incarnation=2, address="a:1", directory_id="d"),
]


def test_a_group_of_an_earlier_version_sends_letters_of_every_topic_where_it_did() -> None:
    group = Group("1123456789abc", "workers", 5, settings=GroupSettings(dead_letter_topic="letters"))
    older = msgspec.json.decode(encode(group))
    del older["deadLetterSources"]
    assert decode(Group, msgspec.json.encode(older)) == group


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: type(stored).__name__)
def test_a_newer_writer_is_understood(stored: msgspec.Struct) -> None:
    """In a rolling upgrade a process reads what the next version has written: a field more must not make the topic
    disappear for it."""

    def with_more(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {**{name: with_more(each) for name, each in value.items()}, "ofTheNextVersion": 1}

    newer = msgspec.json.encode(with_more(msgspec.json.decode(encode(stored))))
    assert decode(type(stored), newer) == stored


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: type(stored).__name__)
def test_what_a_newer_version_wrote_survives_a_rewrite(stored: msgspec.Struct) -> None:
    """An earlier process that changes one setting takes no other away."""
    newer = msgspec.json.decode(encode(stored))
    newer["ofTheNextVersion"] = {"a": [1]}
    for nested in {"config", "settings"} & newer.keys():
        newer[nested]["ofTheNextVersion"] = 2
    written = msgspec.json.encode(newer)
    assert msgspec.json.decode(encode_instead(decode(type(stored), written), written)) == newer


def test_a_rewrite_removes_what_it_knows_and_keeps_what_it_does_not() -> None:
    topic = Topic("t", "orders", 8, 1, 5, TopicConfig(retention_ms=7), decommissioned=(1,))
    written = encode(topic).replace(b'"retentionMs":7', b'"retentionMs":7,"compaction":"byKey"')
    changed = msgspec.structs.replace(topic, decommissioned=(), config=TopicConfig(retention_ms=9))
    rewritten = encode_instead(changed, written)
    assert decode(Topic, rewritten) == changed
    assert msgspec.json.decode(rewritten)["config"]["compaction"] == "byKey"
    assert b"decommissioned" not in rewritten


def test_directories_that_do_not_fit_the_replicas_are_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(PartitionState, OLD_PARTITION.replace(b"}", b',"directories":["a","b"]}'))

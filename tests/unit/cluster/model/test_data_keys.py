"""How the data keys of a topic change, and what versions before make of them."""

import msgspec
import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.codec import decode, encode, encode_instead
from cluster.model.data_keys import (
    DATA_KEYS_MAX,
    missing_number,
    rewrapped,
    rotated,
    with_data_key,
    with_encryption,
)
from cluster.model.needed_protocol import PROTOCOL_OF_ENCRYPTION, needed_by_topic
from cluster.model.values import DataKey, Encryption, Topic, TopicConfig

CLEAR = Topic("id", "orders", 1, 1, 0)
ON = TopicConfig(encryption=Encryption.ON)


def key(number: int, master_key: str = "m") -> DataKey:
    return DataKey(number, b"wrapped %d" % number, master_key, 5)


def encrypted(*keys: DataKey, wanted: int = 1) -> Topic:
    return msgspec.structs.replace(CLEAR, config=ON, data_keys_wanted=wanted, data_keys=keys)


def test_an_encrypted_topic_wants_a_key_and_keeps_those_it_has() -> None:
    assert with_encryption(CLEAR) == CLEAR
    assert with_encryption(msgspec.structs.replace(CLEAR, config=ON)) == encrypted()
    assert with_encryption(encrypted(key(1), wanted=3)) == encrypted(key(1), wanted=3)
    switched_off = msgspec.structs.replace(encrypted(key(1)), config=TopicConfig())
    assert with_encryption(switched_off) == switched_off


def test_keys_are_made_one_by_one_and_each_once() -> None:
    topic = encrypted(wanted=2)
    assert missing_number(topic) == 1
    first = with_data_key(topic, key(1))
    assert first is not None
    assert with_data_key(first, key(1)) is None, "another node was faster"
    assert missing_number(first) == 2
    second = with_data_key(first, key(2))
    assert second is not None
    assert missing_number(second) is None
    assert with_data_key(second, key(3)) is None
    assert [each.number for each in second.data_keys] == [1, 2]


def test_a_rotation_has_a_limit() -> None:
    topic = encrypted(key(1))
    for _ in range(DATA_KEYS_MAX - 1):
        topic = rotated(topic)
    with pytest.raises(ServerError) as refused:
        rotated(topic)
    assert refused.value.code is ProblemCode.TOO_MANY_DATA_KEYS
    with pytest.raises(ServerError) as clear:
        rotated(CLEAR)
    assert clear.value.code is ProblemCode.NOT_ENCRYPTED


def test_a_key_is_wrapped_anew_in_its_place() -> None:
    topic = encrypted(key(1), key(2), wanted=2)
    changed = rewrapped(topic, key(2, "n"))
    assert changed is not None
    assert [each.master_key for each in changed.data_keys] == ["m", "n"]
    assert rewrapped(changed, key(2, "n")) is None
    assert rewrapped(topic, key(3, "n")) is None


def test_every_node_has_to_know_of_it() -> None:
    assert needed_by_topic(ON) == PROTOCOL_OF_ENCRYPTION
    assert needed_by_topic(TopicConfig()) < PROTOCOL_OF_ENCRYPTION


class TopicConfigOfBefore(msgspec.Struct, frozen=True, rename="camel"):
    retention_ms: int = 5


class TopicOfBefore(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What a version reads that knows of no encryption."""

    id: str
    name: str
    config: TopicConfigOfBefore = TopicConfigOfBefore()


def test_a_version_before_loses_no_key_when_it_changes_a_topic() -> None:
    written = encode(encrypted(key(1), wanted=2))
    before = decode(TopicOfBefore, written)
    changed = msgspec.structs.replace(before, config=TopicConfigOfBefore(retention_ms=7))
    found = decode(Topic, encode_instead(changed, written))
    assert (found.config.retention_ms, found.config.encryption) == (7, Encryption.ON)
    assert (found.data_keys, found.data_keys_wanted) == ((key(1),), 2)


def test_a_topic_in_clear_is_written_as_before() -> None:
    assert b"dataKey" not in encode(CLEAR)

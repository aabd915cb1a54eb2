"""A log's batches come back as they were, and nothing else ever does."""

import struct

import msgspec
import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from acklog.wire.batch import (
    CONTENT_AT,
    HEADER_BYTES,
    BatchCorruptError,
    DedupKey,
    check_unstamped,
    decode_keys,
    decode_records,
    encode_batch,
    read_header,
    stamp,
    verify,
)
from acklog.wire.batch_structure import check_structure
from acklog.wire.compacted_batch import decode_remaining
from acklog.wire.compression import Codec, decompress
from acklog.wire.limits import BATCH_BYTES_MAX
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from cluster.errors import ServerError
from cluster.model.data_keys import DATA_KEYS_MAX
from cluster.model.values import DataKey, Encryption, Topic, TopicConfig
from cluster.ports.entropy import Entropy
from storage.encryption import writer_key
from storage.encryption.envelope import ENVELOPE_BYTES, is_encrypted
from storage.encryption.log_cipher import LogCipher, encrypt_batch
from storage.encryption.topic_keys import TopicKeys
from storage.encryption.writer_key import WriterKey
from storage.log.batch_cipher import IN_CLEAR
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from storage.log.segment_reader import StoredBatch
from tests.sim.environment import SimEntropy

TOPIC = "0123456789abc"
LOG = LogKey(TOPIC, 3, LogKind.MESSAGES)
RECORDS = st.builds(
    Record,
    body=st.binary(max_size=60),
    key=st.none() | st.text(max_size=10),
    headers=st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=2),
    tags=st.none() | st.lists(st.text(max_size=5), max_size=2),
    timestamp_ms=st.none() | st.integers(0, 1 << 40),
)


def keys_of(*numbers: int, encryption: Encryption = Encryption.ON) -> TopicKeys:
    keys = TopicKeys()
    data_keys = tuple(DataKey(number, b"", "m", 0) for number in numbers)
    keys.learn(Topic(TOPIC, "orders", 8, 1, 0, TopicConfig(encryption=encryption), data_keys=data_keys))
    for number in numbers:
        keys.put(number, bytes([number]) * 32)
    return keys


def cipher_of(log: LogKey = LOG, keys: TopicKeys | None = None, entropy: Entropy | None = None) -> LogCipher:
    return LogCipher(log, keys or keys_of(1), entropy or SimEntropy(1))


def stored(batch: bytearray, *, offset: int = 7) -> StoredBatch:
    stamp(batch, base_offset=offset, leader_epoch=2, append_time_ms=1_000)
    return StoredBatch(verify(batch), memoryview(batch))


@settings(deadline=None)
@given(
    st.lists(RECORDS, min_size=1, max_size=5),
    st.lists(st.text(max_size=10), max_size=2),
    st.sampled_from(Codec),
    st.integers(-1, 1 << 40),
)
def test_what_is_stored_comes_back_and_does_not_show(
    records: list[Record], names: list[str], codec: Codec, producer_id: int
) -> None:
    keys = [DedupKey(index, name, b"12345678") for index, name in enumerate(names[: len(records)])]
    plain = encode_batch(records, keys=keys, codec=codec, producer_id=producer_id)
    sealed = cipher_of().encrypted(bytearray(plain))
    assert len(sealed) == len(plain) + ENVELOPE_BYTES
    check_unstamped(sealed)
    assert bytes(plain[HEADER_BYTES:]) not in bytes(sealed)
    found = cipher_of().decrypted(stored(sealed))
    assert bytes(found.data) == bytes(stored(plain).data)
    assert decode_records(found.data, found.header) == records
    assert decode_keys(found.data, found.header) == keys


@settings(max_examples=300, deadline=None)
@given(st.integers(CONTENT_AT, 200), st.integers(0, 7))
def test_a_changed_bit_is_found_though_its_checksum_was_made_anew(at: int, bit: int) -> None:
    plain = encode_batch([Record(b"body", "key")] * 4, keys=[DedupKey(0, "name", b"12345678")], producer_id=5)
    batch = cipher_of().encrypted(plain)
    batch[min(at, len(batch) - 1)] ^= 1 << bit
    struct.pack_into(">I", batch, 32, crc32c(bytes(batch[CONTENT_AT:])))
    stamp(batch, base_offset=0, leader_epoch=1, append_time_ms=1)
    with pytest.raises((ValueError, ServerError)):  # a newer data key may be one that is not known yet
        read(batch)


def read(batch: bytearray) -> list[Record | None]:
    """Also of one that does not say any more that it is encrypted."""
    found = cipher_of().decrypted(StoredBatch(read_header(batch), memoryview(batch)))
    return decode_remaining(found.data, found.header)


@pytest.mark.parametrize(
    "log",
    [
        LogKey("another_topic", 3, LogKind.MESSAGES),
        LogKey(TOPIC, 4, LogKind.MESSAGES),
        LogKey(TOPIC, 3, LogKind.SCHEDULE),
    ],
)
def test_a_batch_of_another_log_is_refused(log: LogKey) -> None:
    batch = stored(cipher_of().encrypted(encode_batch([Record(b"1")])))
    with pytest.raises(BatchCorruptError, match="belongs to another"):
        cipher_of(log).decrypted(batch)


def test_another_data_key_of_the_same_number_is_refused() -> None:
    batch = stored(cipher_of().encrypted(encode_batch([Record(b"1")])))
    others = keys_of(1)
    others.put(1, b"x" * 32)
    with pytest.raises(BatchCorruptError):
        cipher_of(keys=others).decrypted(batch)


def test_whoever_has_no_key_says_that_it_is_encrypted() -> None:
    header, data = stored(cipher_of().encrypted(encode_batch([Record(b"1")], keys=[DedupKey(0, "a", b"12345678")])))
    for decode in (decode_records, decode_keys, decode_remaining):
        with pytest.raises(BatchCorruptError, match="it is encrypted"):
            decode(data, header)
    assert IN_CLEAR.decrypted(StoredBatch(header, data)).data is data
    with pytest.raises(ServerError) as unknown:
        cipher_of(keys=keys_of()).decrypted(StoredBatch(header, data))
    assert unknown.value.code is ProblemCode.UNAVAILABLE
    assert "data key 1 of the encrypted topic orders" in unknown.value.detail


@pytest.mark.parametrize("number", [0, 1, DATA_KEYS_MAX + 1, 1 << 31])
def test_a_data_key_that_there_cannot_be_is_damage(number: int) -> None:
    with pytest.raises(BatchCorruptError, match=f"the data key {number}, which its topic does not have"):
        keys_of(2).key(number)


def test_a_version_before_takes_nothing_of_it_for_content() -> None:
    """It looks at neither the flag nor the layout: whatever stands first must be what nothing can begin with."""
    content = bytes(cipher_of().encrypted(encode_batch([Record(b"1")])))[HEADER_BYTES:]
    with pytest.raises(msgspec.DecodeError):
        msgspec.msgpack.decode(content)
    for codec in (Codec.ZSTD, Codec.LZ4):
        with pytest.raises(ValueError):
            decompress(codec, content, limit_bytes=1_000)


def test_no_gateway_may_send_an_encrypted_batch() -> None:
    batch = cipher_of().encrypted(encode_batch([Record(b"1")]))
    with pytest.raises(BatchCorruptError, match="flags"):
        check_structure(batch, read_header(batch))


def test_no_nonce_comes_twice_whoever_writes() -> None:
    entropy, seen, count = SimEntropy(3), set(), 0
    for _leadership in range(50):
        cipher = cipher_of(entropy=entropy)
        for number in range(20):
            batch = cipher.encrypted(encode_batch([Record(b"%d" % number)]))
            seen.add(bytes(batch[90:114]))  # salt and count
            count += 1
    assert len(seen) == count


def test_a_writer_ends_at_its_limit_and_another_one_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_key, "WRITER_BATCHES_MAX", 3)
    cipher = cipher_of()
    salts = [bytes(cipher.encrypted(encode_batch([Record(b"1")]))[90:106]) for _ in range(7)]
    assert [salts.count(salt) for salt in dict.fromkeys(salts)] == [3, 3, 1]
    writer = WriterKey(1, b"k" * 32, b"log", SimEntropy(1))
    for _ in range(3):
        writer.take_count()
    with pytest.raises(ValueError, match="may no more"):
        writer.take_count()


def test_the_newest_key_is_taken_and_each_batch_names_its_own() -> None:
    keys = keys_of(1)
    cipher = cipher_of(keys=keys)
    first = stored(cipher.encrypted(encode_batch([Record(b"1")])))
    keys.put(2, b"2" * 32)
    second = stored(cipher.encrypted(encode_batch([Record(b"2")])))
    assert [int.from_bytes(each.data[86:90], "big") for each in (first, second)] == [1, 2]
    for each, body in ((first, b"1"), (second, b"2")):
        header, data = cipher.decrypted(each)
        assert [record.body for record in decode_records(data, header)] == [body]


def test_nothing_is_stored_in_clear_while_there_is_no_key() -> None:
    with pytest.raises(ServerError) as refused:
        cipher_of(keys=keys_of()).encrypted(encode_batch([Record(b"1")]))
    assert refused.value.code is ProblemCode.UNAVAILABLE
    assert refused.value.retry_after_ms is not None


def test_switched_off_it_stores_in_clear_and_still_reads_what_was() -> None:
    batch = stored(cipher_of().encrypted(encode_batch([Record(b"1")])))
    off = cipher_of(keys=keys_of(1, encryption=Encryption.OFF))
    plain = encode_batch([Record(b"2")])
    assert off.encrypted(plain) is plain
    assert off.encrypted_state(b"state") == b"state"
    assert not off.decrypted(batch).header.is_encrypted


def test_a_batch_at_the_limit_has_room_for_its_envelope() -> None:
    writer = cipher_of().new_writer()
    largest = BATCH_BYTES_MAX - ENVELOPE_BYTES
    content = bytearray(largest + 1)
    header = read_header(encode_batch([Record(b"1")]))
    assert len(encrypt_batch(writer, replace(header, length=largest), content)) == BATCH_BYTES_MAX
    with pytest.raises(ServerError) as refused:
        encrypt_batch(writer, replace(header, length=largest + 1), content)
    assert refused.value.code is ProblemCode.REQUEST_TOO_LARGE


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=50), st.integers(0, 99), st.integers(0, 7))
def test_state_beside_a_log_is_encrypted_as_well(state: bytes, at: int, bit: int) -> None:
    kept = cipher_of().encrypted_state(state)
    assert is_encrypted(kept)
    assert cipher_of().decrypted_state(kept) == state
    changed = bytearray(kept)
    changed[1 + at % (len(kept) - 1)] ^= 1 << bit
    with pytest.raises((BatchCorruptError, ServerError)):
        cipher_of().decrypted_state(changed)
    with pytest.raises(BatchCorruptError):
        cipher_of(LogKey(TOPIC, 4, LogKind.MESSAGES)).decrypted_state(kept)


def test_keys_are_not_shown() -> None:
    keys = keys_of(1, 2)
    keys.put(3, b"secret" * 5 + b"..")
    assert "secret" not in repr(keys)
    assert repr(keys) == "TopicKeys('orders', [1, 2, 3])"

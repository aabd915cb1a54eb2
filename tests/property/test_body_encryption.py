"""Bodies that clients encrypt: what goes in comes out, and nothing else does."""

from base64 import b64encode
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from acklog import OutgoingMessage
from acklog.body_encryption import BodyEncryption
from acklog.body_encryption.envelope import ENCRYPTED_TYPE, bound, head_of, parse
from acklog.errors import DecryptionFailed
from tests.support.body_keys import CountingKeys, bytes_of, stored

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.none() | st.text(max_size=20)
TOPICS = st.from_regex(r"[a-z][a-z.-]{0,20}", fullmatch=True)
CONTENT_TYPES = st.none() | st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=30)


@given(body=JSON_VALUES, key=KEYS, topic=TOPICS)
def test_a_value_comes_out_as_it_went_in(body: Any, key: str | None, topic: str) -> None:
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all(topic, [OutgoingMessage(body, key)])
    message = stored(sent, topic)
    assert message.content_type == ENCRYPTED_TYPE
    encryption.decrypt_all([(topic, message)])
    assert (message.content_type, message.base64_body) == (None, None)
    assert message.body_bytes == msgspec.json.encode(body)


@given(body=st.binary(max_size=300), key=KEYS, content_type=CONTENT_TYPES)
def test_bytes_come_out_as_they_went_in(body: bytes, key: str | None, content_type: str | None) -> None:
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all("orders", [OutgoingMessage(body, key, content_type=content_type)])
    message = stored(sent, "orders")
    encryption.decrypt_all([("orders", message)])
    assert message.body == body
    assert message.content_type == content_type or (content_type is None and message.content_type is not None)


@given(body=st.binary(min_size=1, max_size=40), key=KEYS, data=st.data())
def test_any_bit_that_is_turned_is_refused(body: bytes, key: str | None, data: st.DataObject) -> None:
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all("orders", [OutgoingMessage(body, key)])
    message = stored(sent, "orders")
    changed = bytearray(bytes_of(message))
    place = data.draw(st.integers(0, len(changed) * 8 - 1))
    changed[place // 8] ^= 1 << place % 8
    message.base64_body = b64encode(changed).decode()
    encryption.decrypt_all([("orders", message)])
    with pytest.raises(DecryptionFailed):
        _ = message.body


@given(cut=st.integers(0, 200), more=st.binary(max_size=3))
def test_a_body_that_is_cut_or_longer_is_refused(cut: int, more: bytes) -> None:
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all("orders", [OutgoingMessage({"card": "4111"})])
    whole = bytes(sent.body)
    changed = whole[:cut] + more
    assume(changed and changed != whole)
    message = stored(OutgoingMessage(changed, content_type=ENCRYPTED_TYPE), "orders")
    encryption.decrypt_all([("orders", message)])
    with pytest.raises(DecryptionFailed):
        _ = message.body


@given(noise=st.binary(max_size=200))
@example(noise=b"\1\1a\1k\0\0")
def test_what_is_no_envelope_is_refused(noise: bytes) -> None:
    message = stored(OutgoingMessage(noise, content_type=ENCRYPTED_TYPE), "orders")
    BodyEncryption(CountingKeys()).decrypt_all([("orders", message)])
    with pytest.raises(DecryptionFailed):
        _ = message.body


@given(first=KEYS, second=KEYS)
def test_a_body_goes_with_its_key(first: str | None, second: str | None) -> None:
    assume(first != second)
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all("orders", [OutgoingMessage("paid", first)])
    message = stored(sent, "orders")
    message.key = second
    encryption.decrypt_all([("orders", message)])
    with pytest.raises(DecryptionFailed, match="another message's body"):
        _ = message.body


@given(st.tuples(TOPICS, st.text(min_size=1, max_size=9), st.binary(min_size=1, max_size=9), KEYS), st.data())
def test_no_two_messages_are_bound_to_the_same_bytes(one: tuple[Any, ...], data: st.DataObject) -> None:
    other = data.draw(st.tuples(TOPICS, st.text(min_size=1, max_size=9), st.binary(min_size=1, max_size=9), KEYS))
    assume(one != other)
    assert bound(head_of(*one[:3]), one[3]) != bound(head_of(*other[:3]), other[3])


@given(TOPICS, st.text(min_size=1, max_size=30), st.binary(min_size=1, max_size=99), st.binary(min_size=29))
def test_an_envelope_says_what_was_put_into_it(topic: str, key_id: str, wrapped: bytes, rest: bytes) -> None:
    envelope = parse(head_of(topic, key_id, wrapped) + rest)
    assert (envelope.topic, envelope.key_id, envelope.wrapped) == (topic, key_id, wrapped)
    assert envelope.nonce + envelope.ciphertext == rest

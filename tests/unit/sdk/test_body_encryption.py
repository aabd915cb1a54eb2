"""Bodies that clients encrypt: by which keys, bound to what, and what becomes of messages that cannot be read."""

import json
from base64 import b64encode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from acklog import AsyncClient, OutgoingMessage, StoredMessage
from acklog.body_encryption import BodyEncryption, Keyring
from acklog.body_encryption.body_encryption import UNWRAPPED_KEYS_MAX
from acklog.body_encryption.envelope import KEY_ID_BYTES_MAX, WRAPPED_BYTES_MAX, parse
from acklog.body_encryption.keyring import (
    KEYRING_BYTES_MAX,
    KEYRING_INTERVAL_MS,
    KEYRING_KEYS_MAX,
    parse_keyring,
)
from acklog.body_encryption.sending_keys import (
    DATA_KEY_AGE_MS_MAX,
    DATA_KEY_BYTES_MAX,
    DATA_KEY_MESSAGES_MAX,
    SendingKeys,
)
from acklog.errors import (
    AcklogError,
    DecryptionFailed,
    InvalidArgument,
    KeyUnavailable,
    MessageInClear,
    UnknownKey,
)
from tests.support.body_keys import CountingKeys, stored, write_keyring
from tests.unit.sdk.fake_log import answer
from tests.unit.sdk.test_catalog import Answers

KEY, OTHER = b"1" * 32, b"2" * 32


class Provider:
    """Gives what it is told to."""

    def __init__(self, key_id: str = "k", wrapped: bytes = b"w", data_key: bytes = b"d" * 32) -> None:
        self._wrapped = (key_id, wrapped)
        self._data_key = data_key

    def wrap(self, data_key: bytes, /) -> tuple[str, bytes]:
        return self._wrapped

    def unwrap(self, key_id: str, wrapped: bytes, /) -> bytes:
        return self._data_key


def encrypted(encryption: BodyEncryption, body: Any, key: str | None = None, topic: str = "orders") -> StoredMessage:
    [sent] = encryption.encrypt_all(topic, [OutgoingMessage(body, key)])
    return stored(sent, topic)


def failure_of(message: StoredMessage) -> AcklogError:
    with pytest.raises(AcklogError) as raised:
        _ = message.body
    for read in (lambda: message.body_bytes, lambda: message.body_as(dict)):
        with pytest.raises(type(raised.value)):
            read()
    return raised.value


# --- where a body may be read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "is_read"),
    [
        ("orders", True),
        ("orders.mail.dlq", True),
        ("orders.mail.dlq.look.dlq", True),
        ("refunds", False),
        ("orders2.mail.dlq", False),
        ("orders.mail", False),
        ("letters", True),
    ],
)
def test_a_body_is_read_from_its_topic_its_dead_letters_and_where_it_may_have_moved(topic: str, is_read: bool) -> None:
    encryption = BodyEncryption(CountingKeys(), moved_from={"letters": ["orders"]})
    message = encrypted(encryption, {"order": 1})
    encryption.decrypt_all([(topic, message)])
    if is_read:
        assert message.body == {"order": 1}
    else:
        error = failure_of(message)
        assert isinstance(error, DecryptionFailed)
        assert f'moved_from={{"{topic}": ["orders"]}}' in error.detail


def test_the_topic_is_bound_and_not_only_said() -> None:
    encryption = BodyEncryption(CountingKeys())
    [sent] = encryption.encrypt_all("orders", [OutgoingMessage("x")])
    message = stored(OutgoingMessage(sent.body.replace(b"orders", b"ordert"), content_type=sent.content_type), "ordert")
    encryption.decrypt_all([("ordert", message)])
    assert "was changed" in failure_of(message).detail


# --- what is in clear ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{"n": 1}, b"bytes"])
def test_messages_in_clear_are_refused_unless_they_are_accepted(body: Any) -> None:
    message = stored(OutgoingMessage(body), "orders")
    BodyEncryption(CountingKeys()).decrypt_all([("orders", message)])
    error = failure_of(message)
    assert isinstance(error, MessageInClear)
    assert 'clear_messages="accept"' in error.detail
    message = stored(OutgoingMessage(body), "orders")
    BodyEncryption(CountingKeys(), clear_messages="accept").decrypt_all([("orders", message)])
    assert message.body == body


def test_a_tombstone_stays_one() -> None:
    encryption = BodyEncryption(CountingKeys())
    message = encrypted(encryption, b"", key="customer-7")
    assert (message.base64_body, message.key) == ("", "customer-7")
    encryption.decrypt_all([("orders", message)])
    assert message.body == b""
    assert encrypted(encryption, b"").base64_body != "", "without a key it is a message like others"


@pytest.mark.parametrize("text", ["AAA", "A", "ÄÄÄÄ", "AA!!"])
def test_what_is_no_base64_harms_no_other(text: str) -> None:
    encryption = BodyEncryption(CountingKeys())
    messages = [encrypted(encryption, number) for number in range(3)]
    messages[1].base64_body = text
    encryption.decrypt_all([("orders", message) for message in messages])
    assert (messages[0].body, messages[2].body) == (0, 2)
    error = failure_of(messages[1])
    assert isinstance(error, DecryptionFailed)
    assert "is not" in error.detail


def test_one_that_cannot_be_read_harms_no_other() -> None:
    keys = CountingKeys()
    encryption = BodyEncryption(keys)
    messages = [encrypted(encryption, number) for number in range(3)]
    messages[1].base64_body = "AAAA"
    encryption.decrypt_all([("orders", message) for message in messages])
    assert (messages[0].body, messages[2].body) == (0, 2)
    failure_of(messages[1])


# --- keys of the data ------------------------------------------------------------------------------------------------


def test_a_data_key_is_used_for_so_many_messages_and_bytes_and_for_so_long() -> None:
    now_ms = 0.0
    keys = CountingKeys()
    sending = SendingKeys(keys, now_ms=lambda: now_ms)
    assert not sending.is_ready(0)
    key = sending.take(1)
    assert sending.is_ready(DATA_KEY_BYTES_MAX - 1)
    assert not sending.is_ready(DATA_KEY_BYTES_MAX)
    assert sending.take(DATA_KEY_BYTES_MAX - 1) is key
    key = sending.take(1)
    assert keys.wrapped == 2
    key.messages_left = 1
    assert sending.take(1) is key
    assert sending.take(1) is not key
    now_ms = DATA_KEY_AGE_MS_MAX - 1
    assert sending.is_ready(1)
    now_ms = DATA_KEY_AGE_MS_MAX
    assert not sending.is_ready(1)
    assert sending.take(1).messages_left == DATA_KEY_MESSAGES_MAX - 1
    assert keys.wrapped == 4


def test_a_process_that_was_forked_off_has_a_data_key_of_its_own() -> None:
    process = 1
    keys = CountingKeys()
    sending = SendingKeys(keys, process_id=lambda: process)
    before = sending.take(1)
    process = 2
    assert not sending.is_ready(1)
    assert sending.take(1) is not before


def test_unwrapped_keys_are_kept_so_many_and_no_more() -> None:
    keys = CountingKeys()
    reader = BodyEncryption(keys)
    messages = [encrypted(BodyEncryption(keys), number) for number in range(UNWRAPPED_KEYS_MAX + 1)]
    copies = [encrypted(BodyEncryption(keys), 0)]
    reader.decrypt_all([("orders", message) for message in messages])
    assert len(keys.unwrapped) == UNWRAPPED_KEYS_MAX + 1
    assert reader._cipher.cache_info().currsize == UNWRAPPED_KEYS_MAX
    reader.decrypt_all([("orders", message) for message in copies])
    assert [message.body for message in messages] == list(range(UNWRAPPED_KEYS_MAX + 1))


def test_a_key_that_is_not_there_is_asked_for_once_an_answer() -> None:
    keys = CountingKeys()
    encryption = BodyEncryption(keys)
    messages = [encrypted(encryption, number) for number in range(5)]
    keys.failure = OSError("the service is away")
    encryption.decrypt_all([("orders", message) for message in messages])
    assert len(keys.unwrapped) == 1
    error = failure_of(messages[4])
    assert isinstance(error, KeyUnavailable)
    assert error.retriable
    assert "the service is away" in error.detail
    keys.failure = None
    again = encrypted(encryption, 7)
    encryption.decrypt_all([("orders", again)])
    assert again.body == 7, "a failure is not kept"


def test_nothing_is_sent_where_no_key_can_be_wrapped() -> None:
    keys = CountingKeys()
    keys.failure = TimeoutError()
    with pytest.raises(KeyUnavailable, match="nothing was sent"):
        BodyEncryption(keys).encrypt_all("orders", [OutgoingMessage(1)])


@pytest.mark.parametrize("provider", [Provider("", b"w"), Provider("k" * (KEY_ID_BYTES_MAX + 1)), Provider("k", b"")])
def test_a_provider_that_gives_what_cannot_be_sent_is_told(provider: Provider) -> None:
    with pytest.raises(InvalidArgument, match="wrap gave"):
        BodyEncryption(provider).encrypt_all("orders", [OutgoingMessage(1)])


def test_a_provider_may_give_as_much_as_fits() -> None:
    provider = Provider("k" * KEY_ID_BYTES_MAX, b"w" * WRAPPED_BYTES_MAX)
    [sent] = BodyEncryption(provider).encrypt_all("orders", [OutgoingMessage(1)])
    assert len(parse(sent.body).wrapped) == WRAPPED_BYTES_MAX
    with pytest.raises(InvalidArgument, match="2049 bytes"):
        BodyEncryption(Provider("k", b"w" * (WRAPPED_BYTES_MAX + 1))).encrypt_all("orders", [OutgoingMessage(1)])


def test_a_provider_that_unwraps_no_key_is_told() -> None:
    encryption = BodyEncryption(Provider(data_key=b"short"))
    message = encrypted(encryption, 1)
    encryption.decrypt_all([("orders", message)])
    assert "5 bytes" in failure_of(message).detail


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (OutgoingMessage({"n": 1}, content_type="text/plain"), "content_type"),
        (OutgoingMessage(b"x", content_type=""), "content_type"),
        (OutgoingMessage(b"x", content_type="t" * 129), "content_type"),
        (OutgoingMessage(object()), "body"),
        (OutgoingMessage(1, key="\ud800"), None),
    ],
)
def test_what_the_server_would_refuse_is_refused(message: OutgoingMessage, field: str | None) -> None:
    with pytest.raises(InvalidArgument) as raised:
        BodyEncryption(CountingKeys()).encrypt_all("orders", [message])
    assert raised.value.field == field


def test_only_what_there_is_can_be_chosen() -> None:
    with pytest.raises(InvalidArgument, match="refuse or accept"):
        BodyEncryption(CountingKeys(), clear_messages="ignore")  # type: ignore[arg-type]


# --- a keyring -------------------------------------------------------------------------------------------------------


def test_the_first_key_wraps_and_all_unwrap(tmp_path: Path) -> None:
    path = write_keyring(tmp_path / "keys", old=KEY)
    message = encrypted(BodyEncryption(Keyring(path)), "kept")
    write_keyring(tmp_path / "keys", new=OTHER, old=KEY)
    keyring = Keyring(path)
    key_id, wrapped = keyring.wrap(b"d" * 32)
    assert key_id == "new"
    assert keyring.unwrap("new", wrapped) == b"d" * 32
    BodyEncryption(keyring).decrypt_all([("orders", message)])
    assert message.body == "kept"
    assert repr(keyring) == f"Keyring({path!r}, ['new', 'old'])"


def test_keys_are_added_while_a_process_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    now_ms = 0.0
    path = write_keyring(tmp_path / "keys", old=KEY)
    reader = Keyring(path, now_ms=lambda: now_ms)
    write_keyring(tmp_path / "keys", new=OTHER, old=KEY)
    key_id, wrapped = Keyring(path).wrap(b"d" * 32)
    now_ms = KEYRING_INTERVAL_MS - 1
    with pytest.raises(UnknownKey, match="add its line"):
        reader.unwrap(key_id, wrapped)
    now_ms = KEYRING_INTERVAL_MS
    assert reader.unwrap(key_id, wrapped) == b"d" * 32
    (tmp_path / "keys").unlink()
    assert reader.wrap(b"d" * 32)[0] == "new", "the keys of before count"
    reader.wrap(b"d" * 32)
    assert len(caplog.records) == 1
    write_keyring(tmp_path / "keys", newest=KEY)
    assert reader.wrap(b"d" * 32)[0] == "newest"


def test_a_wrapped_key_of_another_key_is_refused(tmp_path: Path) -> None:
    key_id, wrapped = Keyring(write_keyring(tmp_path / "a", k=KEY)).wrap(b"d" * 32)
    other = Keyring(write_keyring(tmp_path / "b", k=OTHER, also=KEY))
    for said, bytes_said in ((key_id, wrapped), ("also", wrapped), (key_id, b""), (key_id, wrapped[:-1])):
        with pytest.raises(DecryptionFailed, match="another key as"):
            other.unwrap(said, bytes_said)


LINE = b64encode(KEY)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has 0 keys"),
        (b"# nothing\n", "has 0 keys"),
        (b"a", "line 1 is not an id"),
        (b"a b c", "line 1 is not an id"),
        (b"\n\xc3\xa4 " + LINE, "line 2 is not an id"),
        (b"a" * (KEY_ID_BYTES_MAX + 1) + b" " + LINE, "line 1 is not an id"),
        (b"a " + b64encode(b"k" * 31), "not 32 bytes"),
        (b"a =", "not 32 bytes"),
        (b"a " + LINE + b"\na " + LINE, "line 2 has the id 'a'"),
        (b"".join(b"%d %s\n" % (number, LINE) for number in range(KEYRING_KEYS_MAX + 1)), "has 101 keys"),
    ],
)
def test_a_keyring_says_what_is_wrong_with_it(content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(InvalidArgument, match="cannot be used") as raised:
        Keyring(str(tmp_path / "keys"))
    assert words in raised.value.detail
    assert LINE.decode() not in raised.value.detail


def test_a_keyring_has_limits(tmp_path: Path) -> None:
    assert len(parse_keyring(b"".join(b"%d %s\n" % (number, LINE) for number in range(KEYRING_KEYS_MAX)))) == 100
    assert list(parse_keyring(b"  # a comment\n\n  a  " + LINE + b"\r\nb " + LINE)) == ["a", "b"]
    assert list(parse_keyring(b"a" * KEY_ID_BYTES_MAX + b" " + LINE)) == ["a" * KEY_ID_BYTES_MAX]
    content = b"a " + LINE + b"\n"
    (tmp_path / "keys").write_bytes(content + b"#" * (KEYRING_BYTES_MAX - len(content)))
    Keyring(str(tmp_path / "keys"))
    (tmp_path / "keys").write_bytes(content + b"#" * (KEYRING_BYTES_MAX - len(content) + 1))
    with pytest.raises(InvalidArgument, match="more than 65536 bytes"):
        Keyring(str(tmp_path / "keys"))
    with pytest.raises(InvalidArgument, match="cannot be used"):
        Keyring(str(tmp_path / "none"))


# --- every way out, and every way in ---------------------------------------------------------------------------------

SECRET = "4111 1111 1111 1111"
SENT = {"messageId": "m", "partition": 0, "offset": 0}
BATCH = {"results": [SENT], "failed": 0}
RECURRING = {"schedule": "s", "queue": "orders", "partition": 0, "createdAt": 1}


async def by_producer(client: AsyncClient) -> None:
    async with client.producer("orders") as producer:
        await producer.send({"card": SECRET}, key="k")


WAYS: dict[str, tuple[Callable[[AsyncClient], Awaitable[Any]], Any]] = {
    "send": (lambda client: client.send("orders", {"card": SECRET}, key="k"), SENT),
    "bytes": (lambda client: client.send("orders", SECRET.encode(), content_type="text/plain"), SENT),
    "later": (lambda client: client.send("orders", SECRET, delay_seconds=9), SENT),
    "send_many": (lambda client: client.send_many("orders", [OutgoingMessage({"card": SECRET})]), BATCH),
    "producer": (by_producer, BATCH),
    "schedule": (
        lambda client: client.schedules.create("orders", "s", OutgoingMessage(SECRET), cron="* * * * *"),
        RECURRING,
    ),
    "update": (lambda client: client.schedules.update("orders", "s", message=OutgoingMessage(SECRET)), RECURRING),
}


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_goes_out_in_clear(way: str) -> None:
    program, document = WAYS[way]
    for encryption, is_seen in ((None, True), (BodyEncryption(CountingKeys()), False)):
        transport = Answers(answer(201, document))
        async with AsyncClient(transport=transport, body_encryption=encryption) as client:
            await program(client)
        [request] = transport.requests
        seen = request.body + request.target.encode()
        assert (SECRET.encode() in seen or b64encode(SECRET.encode()) in seen) == is_seen
        assert (b"application/vnd.acklog.encrypted" in seen) != is_seen


def documents_of(sent: StoredMessage) -> dict[str, Any]:
    document = json.loads(json.dumps({"contentType": sent.content_type, "bodyBase64": sent.base64_body}))
    whole = {
        "messageId": "m",
        "queue": "orders",
        "partition": 0,
        "offset": 0,
        "timestamp": 1,
        "appendTime": 1,
        **document,
    }
    page = {"offset": 0, "nextOffset": 1, "logStart": 0, "highWatermark": 1}
    later = {"scheduleId": "i", "queue": "orders", "partition": 0, "state": "scheduled", **document}
    return {
        "receive": {"messages": [{**whole, "receipt": "r", "attempt": 1}]},
        "records": {**page, "records": [whole]},
        "table": whole,
        "look": {**whole, "groups": []},
        "scheduled": later,
        "cancel": later,
        "move": later,
        "schedule": {**RECURRING, "message": document},
        "consumer": {"messages": [{**whole, "receipt": "r", "attempt": 1}]},
    }


async def consumed(client: AsyncClient) -> Any:
    async with client.consumer("orders", auto_ack=True) as consumer:
        return (await anext(aiter(consumer))).body


async def received(client: AsyncClient) -> Any:
    return (await client.receive("orders")).messages[0].body


async def read(client: AsyncClient) -> Any:
    return (await client.records("orders", 0)).messages[0].body


async def looked_at(client: AsyncClient) -> Any:
    return (await client.look("m")).message.body


async def of_a_table(client: AsyncClient) -> Any:
    return (await client.tables.get("orders", "k")).body


async def of_a_schedule(client: AsyncClient) -> Any:
    template = (await client.schedules.get("orders", "s")).message
    assert template is not None
    return template.body


WAYS_IN: dict[str, Callable[[AsyncClient], Awaitable[Any]]] = {
    "receive": received,
    "records": read,
    "table": of_a_table,
    "look": looked_at,
    "scheduled": lambda client: _body(client.scheduled.get("orders", "i")),
    "cancel": lambda client: _body(client.scheduled.cancel("orders", "i")),
    "move": lambda client: _body(client.scheduled.move("orders", "i", delay_seconds=1)),
    "schedule": of_a_schedule,
    "consumer": consumed,
}


async def _body(call: Awaitable[Any]) -> Any:
    return (await call).body


@pytest.mark.parametrize("way", WAYS_IN)
async def test_what_comes_in_is_decrypted_or_refused(way: str) -> None:
    keys = CountingKeys()
    sent = encrypted(BodyEncryption(keys), {"card": SECRET})
    documents = documents_of(sent)
    assert documents.keys() == WAYS_IN.keys()
    answered = answer(200, documents[way])
    async with AsyncClient(transport=Answers(*[answered] * 3), body_encryption=BodyEncryption(keys)) as client:
        assert await WAYS_IN[way](client) == {"card": SECRET}
    keys.failure = OSError("away")
    async with AsyncClient(transport=Answers(*[answered] * 3), body_encryption=BodyEncryption(keys)) as client:
        with pytest.raises(KeyUnavailable):
            await WAYS_IN[way](client)

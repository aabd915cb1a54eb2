"""Bodies that clients encrypt, against a real server: it stores, moves and deletes them, and sees none."""

import threading
from itertools import count
from pathlib import Path

import pytest

from acklog import Client, OutgoingMessage, Sent
from acklog.body_encryption import BodyEncryption, Keyring
from acklog.errors import IdempotencyKeyReused, KeyNotFound, MessageInClear, MessageTooLarge, ScheduleExists, UnknownKey
from acklog.wire.limits import MESSAGE_BODY_BYTES_MAX
from tests.support.body_keys import write_keyring
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

SECRET = "4111-1111-1111-1111"
PATIENCE_S = 30


@pytest.fixture
def encryption(tmp_path: Path) -> BodyEncryption:
    return BodyEncryption(Keyring(write_keyring(tmp_path / "keys", first=b"1" * 32)))


def test_a_server_stores_what_only_clients_can_read(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        client.topics.create("orders", 1)
        client.send("orders", {"card": SECRET}, key="k", headers={"h": "seen"}, tags=["t"])
        client.send("orders", SECRET.encode(), content_type="text/plain")
        client.send_many("orders", [OutgoingMessage({"card": SECRET, "n": number}) for number in range(3)])
        with client.producer("orders", compression="gzip") as producer:
            for number in range(100):
                producer.send({"card": SECRET, "n": number}, key=f"k-{number}")
        client.schedules.create("orders", "report", OutgoingMessage({"card": SECRET}), every_seconds=3600)
        later = client.send("orders", {"card": SECRET}, delay_seconds=3600)
        assert later.schedule_id is not None
        template = client.schedules.get("orders", "report").message
        assert template is not None
        assert template.body == {"card": SECRET}
        assert client.scheduled.get("orders", later.schedule_id).body == {"card": SECRET}

        page = client.records("orders", 0)
        assert page.messages[0].body == {"card": SECRET}
        assert (page.messages[1].body, page.messages[1].content_type) == (SECRET.encode(), "text/plain")
        assert client.look(page.messages[2].message_id).message.body == {"card": SECRET, "n": 0}
        seen = []
        with client.consumer("orders", group="g") as consumer:
            for message in consumer:
                with message:
                    seen.append(message.body)
                if len(seen) == 105:
                    break
        assert sum(SECRET in str(body) for body in seen) == 105
    with Client(shared_server.base_url) as stranger:
        body = stranger.records("orders", 0).messages[0].body
        assert isinstance(body, bytes)
        assert SECRET.encode() not in body
    files = [path for path in shared_server.data_directory.rglob("*") if path.is_file()]
    assert len(files) > 3
    for path in files:
        assert SECRET.encode() not in path.read_bytes(), path


def test_dead_letters_are_read_and_go_back(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        client.groups.create("mail", max_attempts=1)
        client.topics.ensure("letters.mail.dlq", partitions=1)
        client.send("letters", {"to": SECRET}, key="k")
        [message] = client.receive("letters", group="mail", wait_s=10).messages
        client.nack(message, delay_s=0, reason="no such street")
        [letter] = client.receive("letters.mail.dlq", group="look", wait_s=20).messages
        assert letter.body == {"to": SECRET}
        client.redrives.start("mail", topic="letters.mail.dlq")
        [again] = client.receive("letters", group="mail", wait_s=20).messages
        assert (again.body, again.key) == ({"to": SECRET}, "k")


def test_a_table_of_encrypted_values_has_tombstones(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        client.topics.create("customers", 1, cleanup_policy="compact")
        client.send("customers", {"city": "Bern"}, key="c-7")
        assert client.tables.get("customers", "c-7").body == {"city": "Bern"}
        client.send("customers", b"", key="c-7")
        with pytest.raises(KeyNotFound):
            client.tables.get("customers", "c-7")


def test_what_is_sent_again_by_hand_is_stored_once(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        client.send("once", 1, dedup_id="d", key="k")
        with pytest.raises(IdempotencyKeyReused):
            client.send("once", 1, dedup_id="d", key="k")
        assert len(client.receive("once", wait_s=10)) == 1
        message = OutgoingMessage(1)
        client.schedules.create("once", "s", message, every_seconds=3600)
        with pytest.raises(ScheduleExists):
            client.schedules.create("once", "s", message, every_seconds=3600)


def test_a_key_is_changed_while_messages_go_on(shared_server: ServerProcess, tmp_path: Path) -> None:
    """Readers get the new key first; then senders have it in front."""
    path = tmp_path / "keys"
    write_keyring(path, old=b"1" * 32)
    seconds = count()  # the file may be looked at again whenever a key is missing
    keyring = Keyring(str(path), now_ms=lambda: next(seconds) * 1000)
    with Client(shared_server.base_url, body_encryption=BodyEncryption(keyring)) as client:
        client.send("rotated", "by the old one")
        write_keyring(path, new=b"2" * 32, old=b"1" * 32)
        with Client(shared_server.base_url, body_encryption=BodyEncryption(Keyring(str(path)))) as other:
            other.send("rotated", "by the new one")
        received = []
        while len(received) < 2:
            received += client.receive("rotated", wait_s=10).messages
    write_keyring(path, new=b"2" * 32)
    late = BodyEncryption(Keyring(str(path)))
    with Client(shared_server.base_url, body_encryption=late) as client:
        bodies = []
        for message in received:
            found = client.look(message.message_id).message
            try:
                bodies.append(found.body)
            except UnknownKey as error:
                bodies.append(error.detail)
    assert {message.body for message in received} == {"by the old one", "by the new one"}
    assert sorted(bodies) == ["by the new one", f"the key 'old' is not in {path}: add its line, behind the first one"]


def test_the_limit_of_a_body_counts_what_is_sent(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        [sent] = encryption.encrypt_all("big", [OutgoingMessage(b"")])
        room = MESSAGE_BODY_BYTES_MAX - len(sent.body)
        assert client.send("big", b"x" * room).offset == 0
        with pytest.raises(MessageTooLarge):
            client.send("big", b"x" * (room + 1))
        with client.producer("big") as producer:
            delivery = producer.send(b"x" * room)
            with pytest.raises(MessageTooLarge):
                producer.send(b"x" * (room + 1))
            assert isinstance(delivery.result(), Sent)
        assert len(client.receive("big", wait_s=10).messages[0].body) == room


def test_handlers_give_back_what_they_cannot_read(shared_server: ServerProcess, encryption: BodyEncryption) -> None:
    with Client(shared_server.base_url) as stranger:
        stranger.groups.create("readers", max_attempts=1)
        stranger.topics.ensure("mixed.readers.dlq", partitions=1)
        stranger.send("mixed", "in clear")
    failures: list[Exception] = []
    read: list[object] = []
    with Client(shared_server.base_url, body_encryption=encryption) as client:
        client.send("mixed", "encrypted")
        consumer = client.consumer("mixed", group="readers")

        def work(message: object) -> None:
            try:
                read.append(message.body)  # type: ignore[attr-defined]
            except MessageInClear as error:
                failures.append(error)
                raise

        thread = threading.Thread(target=consumer.serve, args=(work,))
        thread.start()
        wait_until(lambda: len(failures) == 1 and len(read) == 1, seconds=PATIENCE_S, what="both messages")
        consumer.stop()
        thread.join(PATIENCE_S)
    assert read == ["encrypted"]
    with Client(shared_server.base_url) as stranger:
        [letter] = stranger.receive("mixed.readers.dlq", group="look", wait_s=20).messages
        assert letter.body == "in clear"

"""What docs/encryption.md and the page about formats say of encrypted topics is so."""

import re
from dataclasses import fields

import pytest

from acklog import OutgoingMessage
from acklog.body_encryption import BodyEncryption
from acklog.body_encryption.body_encryption import UNWRAPPED_KEYS_MAX
from acklog.body_encryption.envelope import ENCRYPTED_TYPE, KEY_ID_BYTES_MAX
from acklog.body_encryption.envelope import WRAPPED_BYTES_MAX as WRAPPED_BODY_KEY_BYTES_MAX
from acklog.body_encryption.keyring import KEYRING_BYTES_MAX, KEYRING_INTERVAL_MS, KEYRING_KEYS_MAX
from acklog.body_encryption.sending_keys import DATA_KEY_AGE_MS_MAX, DATA_KEY_BYTES_MAX, DATA_KEY_MESSAGES_MAX
from acklog.errors import DecryptionFailed, KeyUnavailable, MessageInClear, UnknownKey
from acklog.wire.batch import HEADER_BYTES, encode_batch
from acklog.wire.problems import ProblemCode
from acklog.wire.record import Record
from app.configuration.master_key_options import MasterKeyOptions
from app.processes.command_master_key import ANSWER_BYTES_MAX
from cluster.model.data_keys import DATA_KEYS_MAX, WRAPPED_BYTES_MAX
from cluster.model.needed_protocol import PROTOCOL_OF_ENCRYPTION
from storage.encryption.envelope import ENVELOPE_BYTES, TAG_BYTES
from storage.encryption.log_cipher import LogCipher
from storage.encryption.writer_key import KEY_BYTES, WRITER_BATCHES_MAX
from storage.log.keys import LogKey
from storage.node.encryption.data_key_keeper import RETRY
from tests.sim.environment import SimEntropy
from tests.support.body_keys import CountingKeys
from tests.unit.docs.documents import decode, layout, read_document, section, table
from tests.unit.storage.encryption.test_log_cipher import keys_of

PAGE = read_document("encryption.md")
SAID = " ".join(PAGE.split())


def test_limits() -> None:
    options = MasterKeyOptions()
    assert KEY_BYTES * 8 == 256
    assert f"at most {DATA_KEYS_MAX} data keys" in SAID
    assert f"{options.master_key_timeout_ms // 1000} s by default" in SAID
    assert (
        f"may answer {ANSWER_BYTES_MAX >> 10} KiB; a wrapped data key has at most {WRAPPED_BYTES_MAX:,} bytes" in SAID
    )
    assert f"than {PROTOCOL_OF_ENCRYPTION}." in SAID
    assert f"{ENVELOPE_BYTES} bytes a batch" in SAID
    assert (RETRY.first_ms, RETRY.max_ms) == (500, 10_000)
    assert "tried again after half a second, and later each time, up to 10 s" in SAID
    adr = read_document("adr/0039-batches-are-encrypted-between-a-node-and-its-log.md")
    assert WRITER_BATCHES_MAX == 1 << 32
    assert "after 2^32 batches" in adr
    assert f"{ENVELOPE_BYTES} bytes a batch" in adr


def test_settings_and_codes_are_there() -> None:
    names = {each.name for each in fields(MasterKeyOptions)}
    assert [row[0].strip("`") for row in table(section(PAGE, "Keys"))[5:]] == [
        "master_key_file",
        "master_key_variable",
        "master_key_command",
    ]
    events = {"master_key_readable_by_all"}
    assert set(re.findall(r"`((?:previous_)?master_key_\w+)`", PAGE)) - events <= names
    codes = {code.name for code in ProblemCode}
    assert {"NO_MASTER_KEY", "NODES_TOO_OLD", "UNAVAILABLE", "RECORDS_CORRUPT"} <= codes & set(
        re.findall(r"`([A-Z_]+)`", PAGE)
    )


@pytest.mark.parametrize("data_key", [1, 7])
def test_the_envelope_reads_as_the_page_about_formats_says(data_key: int) -> None:
    cipher = LogCipher(LogKey("0123456789abc", 0, 0), keys_of(data_key), SimEntropy(1))
    plain = encode_batch([Record(b"body")])
    for count in range(3):
        batch = cipher.encrypted(bytearray(plain))
        found = decode(layout(read_document("storage-format.md"), "Encrypted batches"), bytes(batch[HEADER_BYTES:]))
        assert (found["mark"], found["version"], found["data_key"], found["count"]) == (0xC1, 1, data_key, count)
        assert found["salt"] == bytes(batch[HEADER_BYTES + 6 : HEADER_BYTES + 22])
        assert len(batch) - HEADER_BYTES == 30 + len(plain) - HEADER_BYTES + TAG_BYTES


def test_what_is_said_of_bodies_that_clients_encrypt() -> None:
    [sent] = BodyEncryption(CountingKeys()).encrypt_all("orders", [OutgoingMessage(b"")])
    local = len(sent.body) - KEY_BYTES + 60 - len(b"application/octet-stream") + len("2026-11") - 1
    assert 100 <= local <= 120
    assert "about 110 bytes" in SAID
    hours = DATA_KEY_AGE_MS_MAX // 3_600_000
    assert (DATA_KEY_MESSAGES_MAX, DATA_KEY_BYTES_MAX >> 30, hours) == (1_048_576, 64, 24)
    assert "after 1,048,576 messages, 64 GiB or a day" in SAID
    assert f"up to {KEYRING_KEYS_MAX} keys and {KEYRING_BYTES_MAX >> 10} KiB" in SAID
    assert KEYRING_INTERVAL_MS == 1_000
    assert f"the last {UNWRAPPED_KEYS_MAX:,} that came" in SAID
    assert f"An id has up to {KEY_ID_BYTES_MAX} bytes, a wrapped key up to {WRAPPED_BODY_KEY_BYTES_MAX:,}" in SAID
    assert f"`{ENCRYPTED_TYPE}`" in SAID
    named = [row[0].strip("`") for row in table(section(PAGE, "Bodies that clients encrypt"))[8:]]
    for error in (UnknownKey, DecryptionFailed, MessageInClear, KeyUnavailable):
        assert error.__name__ in named

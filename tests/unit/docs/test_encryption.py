"""What docs/encryption.md and the page about formats say of encrypted topics is so."""

import re
from dataclasses import fields

import pytest

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
from storage.node.encryption.data_key_keeper import RETRY_MS
from tests.sim.environment import SimEntropy
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
    assert RETRY_MS == 500
    assert "every half second" in SAID
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
    assert set(re.findall(r"`((?:previous_)?master_key_\w+)`", PAGE)) <= names
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

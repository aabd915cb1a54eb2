"""A master key from a file or a variable: what it wraps comes back for what it was wrapped for, and nothing else."""

import base64

import pytest

from cluster.model.values import DataKey
from storage.encryption.local_master_key import MASTER_KEY_TEXT_BYTES_MAX, LocalMasterKey, parse_master_key
from storage.encryption.master_key import MasterKeyError, MasterKeys, bound_to
from tests.sim.environment import SimEntropy

KEY = bytes(range(32))
DATA_KEY = b"d" * 32


def master_key(key: bytes = KEY) -> LocalMasterKey:
    return LocalMasterKey(key, SimEntropy(1))


async def test_a_data_key_comes_back_for_its_topic_only() -> None:
    wrapped = await master_key().wrap(DATA_KEY, bound=bound_to("a", 1))
    assert DATA_KEY not in wrapped
    assert await master_key().unwrap(wrapped, bound=bound_to("a", 1)) == DATA_KEY
    for bound in (bound_to("b", 1), bound_to("a", 2)):
        with pytest.raises(MasterKeyError, match="another topic"):
            await master_key().unwrap(wrapped, bound=bound)
    with pytest.raises(MasterKeyError):
        await master_key(b"x" * 32).unwrap(wrapped, bound=bound_to("a", 1))
    with pytest.raises(MasterKeyError):
        await master_key().unwrap(b"", bound=bound_to("a", 1))


async def test_it_wraps_differently_each_time() -> None:
    key = master_key()
    assert len({await key.wrap(DATA_KEY, bound=b"") for _ in range(20)}) == 20


def test_its_id_tells_it_from_others_and_nothing_of_it() -> None:
    assert master_key().id == master_key().id != master_key(b"x" * 32).id
    assert KEY.hex() not in repr(master_key())
    with pytest.raises(MasterKeyError, match=f"this one is {master_key().id}"):
        master_key().unwrapped(DataKey(1, b"", "another", 0), bound=b"")


@pytest.mark.parametrize("text", [KEY.hex().encode(), base64.b64encode(KEY), b" " + base64.b64encode(KEY) + b"\n"])
def test_forms_of_a_key(text: bytes) -> None:
    assert parse_master_key(text) == KEY


@pytest.mark.parametrize(
    "text",
    [b"", b"secret", base64.b64encode(KEY[:31]), KEY.hex().encode()[:-2], b"A" * (MASTER_KEY_TEXT_BYTES_MAX + 1)],
)
def test_what_is_no_key_is_refused_without_showing_it(text: bytes) -> None:
    with pytest.raises(ValueError) as refused:
        parse_master_key(text)
    assert "openssl rand -base64 32" in str(refused.value)
    assert not text or text.decode() not in str(refused.value)


def test_the_key_that_has_wrapped_is_asked() -> None:
    first, second = master_key(), master_key(b"x" * 32)
    both = MasterKeys(second, first)
    assert both.ids == (second.id, first.id)
    assert both.of(DataKey(1, b"", first.id, 0)) is first
    with pytest.raises(MasterKeyError, match="does not have the master key lost"):
        both.of(DataKey(1, b"", "lost", 0))

"""Names of writes."""

import pytest

from acklog.wire.limits import DEDUP_KEY_BYTES_MAX
from pyspark_acklog.write_identity import TaskIdentity, parse_identity

IDENTITY = TaskIdentity("q-1", 7, 3)


def test_a_name_tells_its_request() -> None:
    assert IDENTITY.request(12) == "q-1/7/3/12"
    assert IDENTITY.sequence_of("q-1/7/3/12") == 12
    assert parse_identity(str(IDENTITY)) == IDENTITY


@pytest.mark.parametrize("name", ["q-1/7/3", "q-1/7/30/12", "q-1/7/3/x", "q-2/7/3/1", "", "q-1/7/3/-1", "/q-1/7/3/1"])
def test_other_names(name: str) -> None:
    assert IDENTITY.sequence_of(name) is None


@pytest.mark.parametrize("name", ["", "a/b/c", "a/1", "a/1/2/3", "a b/1/2"])
def test_no_identity(name: str) -> None:
    assert parse_identity(name) is None


def test_the_longest_name_is_a_possible_idempotency_key() -> None:
    longest = TaskIdentity("x" * 64, 10**12, 10**6).request(10**9)
    assert len(longest) <= DEDUP_KEY_BYTES_MAX - 8

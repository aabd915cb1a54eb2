"""What is found behind damage, and that it takes no longer than the file is long, whatever messages hold."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acklog.wire.batch import MAGIC, encode_plain_batch, stamp
from storage.log.batch_scanner import BatchScanner
from storage.log.batch_search import REMEMBERED_EVERY, find_batch_behind
from tests.support.held_disk import HeldFile

DAMAGE = bytes(90)
READ_PER_BYTE_MAX = 40
"""A search reads a header for each place that it tries, and for some places of the way that leads on from it."""


class CountedFile(HeldFile):
    """How many bytes were read of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.read_bytes = 0

    def read(self, position: int, length: int) -> bytes:
        data = super().read(position, length)
        self.read_bytes += len(data)
        return data


def batch(offset: int, body: bytes = b"1", *, epoch: int = 1) -> bytes:
    made = encode_plain_batch([(body, None)])
    stamp(made, base_offset=offset, leader_epoch=epoch, append_time_ms=1)
    return bytes(made)


def found_in(content: bytes, *, chain_end: int | None = None, above_offset: int = -1) -> tuple[int, int] | None:
    file = HeldFile(content)
    return find_batch_behind(file, position=0, size=len(content), above_offset=above_offset, chain_end=chain_end)


def naively(content: bytes, *, chain_end: int | None, above_offset: int) -> tuple[int, int] | None:
    """Every place, one after the other, each with all that follows."""
    end = len(content) if chain_end is None else chain_end
    for position in range(1, end):
        scanner = BatchScanner(HeldFile(content), position=position, size=end)
        headers = [header for header, _ in scanner]
        is_chain = all(one.next_offset == other.base_offset for one, other in pairwise(headers))
        if headers and scanner.problem is None and is_chain and headers[0].base_offset > above_offset:
            return position, headers[0].base_offset
    return None


def test_the_chain_that_leads_to_the_end_is_found() -> None:
    good = batch(5) + batch(6)
    assert found_in(DAMAGE + good) == (len(DAMAGE), 5)
    assert found_in(DAMAGE + good, above_offset=5) == (len(DAMAGE) + len(batch(5)), 6)
    assert found_in(DAMAGE + good, chain_end=len(DAMAGE) + len(batch(5))) == (len(DAMAGE), 5)


@pytest.mark.parametrize(
    "behind", [b"", batch(5)[:-1], batch(5) + batch(7), batch(5) + b"x", batch(5)[:-1] + b"x", MAGIC * 50]
)
def test_what_leads_nowhere_is_not(behind: bytes) -> None:
    assert found_in(DAMAGE + behind) in (None, (len(DAMAGE) + len(batch(5)), 7))


@pytest.mark.parametrize("batches", [REMEMBERED_EVERY - 1, REMEMBERED_EVERY, 5 * REMEMBERED_EVERY + 1])
def test_a_way_that_was_gone_in_vain_is_told_from_one_that_is_not(batches: int) -> None:
    """The imitation in a message's body ends in the middle of a batch; the real one goes on behind it."""
    imitation = b"".join(batch(100 + number) for number in range(batches))
    real = batch(50, imitation) + batch(51)
    assert found_in(DAMAGE + imitation + bytes(5) + real) == (len(DAMAGE) + len(imitation) + 5, 50)


@pytest.mark.parametrize(
    "body",
    [
        MAGIC * 16_000,
        b"".join(batch(number) for number in range(800)),
        (batch(3)[:40] * 1_600),
    ],
    ids=["beginnings", "chains", "headers"],
)
def test_a_search_reads_no_more_than_in_proportion(body: bytes) -> None:
    """Each place was once followed to the end of the body: a megabyte took hours."""
    content = DAMAGE + body + bytes(100)
    file = CountedFile(content)
    assert find_batch_behind(file, position=0, size=len(content), above_offset=-1, chain_end=None) is None
    assert file.read_bytes <= READ_PER_BYTE_MAX * len(content)


pieces = st.one_of(
    st.builds(batch, st.integers(0, 4), st.sampled_from([b"1", b"22"])),
    st.sampled_from([b"", b"x", MAGIC, batch(1)[:50], batch(0)[:-1], batch(2, batch(3) + batch(4))]),
)


@settings(deadline=None)  # the naive way takes its time
@given(st.lists(pieces, max_size=6), st.booleans(), st.integers(-1, 2))
def test_it_finds_what_a_naive_search_finds(parts: list[bytes], has_chain_end: bool, above_offset: int) -> None:
    content = DAMAGE + b"".join(parts)
    chain_end = len(content) - len(parts[-1]) if has_chain_end and parts else None
    assert found_in(content, chain_end=chain_end, above_offset=above_offset) == naively(
        content, chain_end=chain_end, above_offset=above_offset
    )

"""Which files of earlier runs a backup takes over."""

from hypothesis import given
from hypothesis import strategies as st

from acklog.backup.chunk_chain import SEALED_BYTES, chunk_chain
from acklog.backup.content_file import Chunk


def chunk(start: int, end: int, *, is_sealed: bool = True) -> Chunk:
    return Chunk(f"{start}-{end}-{is_sealed}", start, end, 1, SEALED_BYTES if is_sealed else SEALED_BYTES - 1)


_CHUNKS = st.lists(
    st.builds(
        lambda start, length, is_sealed: chunk(start, start + length, is_sealed=is_sealed),
        st.integers(0, 20),
        st.integers(1, 8),
        st.booleans(),
    ),
    max_size=12,
)


@given(_CHUNKS, st.integers(0, 20), st.integers(0, 20))
def test_it_covers_a_stretch_from_the_start_on_without_gaps_and_never_beyond_the_end(
    known: list[Chunk], start: int, length: int
) -> None:
    end = start + length
    chain = chunk_chain(known, start, end)
    position = start
    for number, each in enumerate(chain):
        assert each in known
        assert each.start == position or (number == 0 and each.start < start)
        assert position < each.end <= end
        assert each.size_bytes >= SEALED_BYTES or each.end == end
        position = each.end


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), _CHUNKS)
def test_what_an_earlier_run_sealed_is_never_read_again(lengths: list[int], others: list[Chunk]) -> None:
    """Whatever else lies about, as much is taken over as of the chain of one run alone, where nothing lies across."""
    chain, position = [], 0
    for length in lengths:
        chain.append(chunk(position, position + length))
        position += length
    found = chunk_chain(chain, 0, position)
    assert found == chain
    assert chunk_chain([*others, *chain], 0, position) != []


def test_a_file_at_the_size_of_a_sealed_one_is_kept_and_one_below_it_is_not() -> None:
    assert chunk_chain([chunk(0, 5)], 0, 9) == [chunk(0, 5)]
    assert chunk_chain([chunk(0, 5, is_sealed=False)], 0, 9) == []
    assert chunk_chain([chunk(0, 5, is_sealed=False)], 0, 5) == [chunk(0, 5, is_sealed=False)]


def test_a_log_whose_start_has_moved_into_a_file() -> None:
    known = [chunk(0, 5), chunk(5, 9)]
    assert chunk_chain(known, 3, 9) == known
    assert chunk_chain(known, 5, 9) == known[1:]
    assert chunk_chain(known, 9, 9) == []


def test_a_small_file_gives_way_to_the_larger_one_that_took_its_place() -> None:
    assert chunk_chain([chunk(0, 3, is_sealed=False), chunk(0, 7)], 0, 7) == [chunk(0, 7)]

"""What an export reads is fixed when it is planned, and files are named by it (rule R33)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_acklog.export.compaction import FILES_JOINED_MIN, JOINS_PER_RUN_MAX, joins_of
from pyspark_acklog.export.failures import ExportError, LayoutError
from pyspark_acklog.export.layout import LayoutWish, TableLayout, columns_of
from pyspark_acklog.export.manifest import ExportedFile
from pyspark_acklog.export.plan import PIECES_MAX, cut, pieces_of
from pyspark_acklog.export.spans import Span, joined

TOPIC_ID = "0123456789abc"
row_sizes = st.floats(5, 500, allow_nan=False)
targets = st.integers(1_000, 100_000)


def span(partition: int, start: int, length: int) -> Span:
    return Span(TOPIC_ID, partition, start, start + length)


spans_of_partitions = st.dictionaries(
    st.integers(0, 30), st.tuples(st.integers(0, 10**12), st.integers(0, 300)), max_size=8
).map(lambda found: [span(partition, *ends) for partition, ends in found.items()])


@given(st.integers(0, 10**12), st.integers(1, 500), row_sizes, targets)
def test_slices_are_of_one_size_and_none_is_small(start: int, length: int, row_bytes: float, target: int) -> None:
    whole = span(0, start, length)
    slices = cut(whole, row_bytes=row_bytes, target_bytes=target)
    assert joined(slices) == [whole]
    assert sum(each.length for each in slices) == length
    lengths = [each.length for each in slices]
    assert max(lengths) - min(lengths) <= 1
    rows_max = max(1, int(target / row_bytes))
    assert max(lengths) <= rows_max
    if len(slices) > 1:
        assert min(lengths) * 2 >= rows_max - 1
    assert slices == cut(whole, row_bytes=row_bytes, target_bytes=target)


@given(spans_of_partitions, row_sizes, targets)
def test_pieces_hold_every_offset_once(found: list[Span], row_bytes: float, target: int) -> None:
    pieces = pieces_of(found, row_bytes=row_bytes, target_bytes=target)
    parts = [part for piece in pieces for part in piece.spans]
    assert sum(part.length for part in parts) == sum(each.length for each in found)
    assert joined(parts) == joined(found)
    rows_max = max(1, int(target / row_bytes))
    assert all(sum(part.length for part in piece.spans) <= rows_max for piece in pieces)
    assert len({piece.name for piece in pieces}) == len(pieces)
    # At most one piece is small for want of more; others share until they are full.
    small = [piece for piece in pieces if sum(part.length for part in piece.spans) * 2 < rows_max - 1]
    assert len(small) <= 1


def test_too_many_pieces_are_refused_with_what_to_do() -> None:
    with pytest.raises(ExportError, match="give a larger --target-file-size"):
        cut(span(0, 0, PIECES_MAX + 1), row_bytes=1000, target_bytes=1000)


def file(name: str, size_bytes: int, *, directory: str = "topic=t/date=d", topic_id: str = TOPIC_ID) -> ExportedFile:
    start = int(name) * 10
    path = f"{directory}/{name}.parquet"
    return ExportedFile(path, 10, size_bytes, 100, "0" * 16, (Span(topic_id, 0, start, start + 10),))


@given(st.lists(st.integers(1, 3_000), max_size=60), st.integers(1, 4))
def test_joins_at_least_double_what_they_write_again(sizes: list[int], directories: int) -> None:
    target = 4_000
    files = [file(str(number), size, directory=f"d{number % directories}") for number, size in enumerate(sizes)]
    joins = joins_of(files, target_bytes=target, suffix="parquet")
    used = [each.path for join in joins for each in join.files]
    assert len(used) == len(set(used))
    for join in joins:
        size = sum(each.size_bytes for each in join.files)
        assert size <= target
        assert size >= 2 * max(each.size_bytes for each in join.files)
        assert len({each.directory for each in join.files}) == 1
        assert join.target.startswith(join.files[0].directory + "/")
        assert len(join.files) >= FILES_JOINED_MIN or size * 2 >= target
    assert len({join.target for join in joins}) == len(joins)


def test_files_of_a_topic_that_was_made_anew_are_not_mixed_with_its_predecessors() -> None:
    files = [file(str(number), 10, topic_id=TOPIC_ID if number % 2 else "z" * 13) for number in range(20)]
    for join in joins_of(files, target_bytes=1_000, suffix="parquet"):
        assert len({each.spans[0].topic_id for each in join.files}) == 1


def test_a_run_joins_no_more_than_its_limit() -> None:
    files = [file(str(number), 10, directory=f"d{number // 8}") for number in range(8 * (JOINS_PER_RUN_MAX + 20))]
    assert len(joins_of(files, target_bytes=1_000, suffix="parquet")) == JOINS_PER_RUN_MAX


def test_what_is_not_asked_for_stays_as_the_table_is() -> None:
    table = TableLayout(format="orc", partition_by=("carrier",), body_schema="carrier string", has_body_text=True)
    assert LayoutWish().on(table) == table
    assert LayoutWish(format="orc", compression="zstd").on(table).compression == "zstd"
    with pytest.raises(LayoutError, match="leave --schema out, or export to another path"):
        LayoutWish(body_schema="delay int").on(table, number=3)


@pytest.mark.parametrize(
    ("text", "names"), [("date", ("date",)), ("none", ()), ("", ()), ("carrier, eventDate", ("carrier", "eventDate"))]
)
def test_columns_are_named_by_commas(text: str, names: tuple[str, ...]) -> None:
    assert columns_of(text) == names


def test_a_column_is_named_once() -> None:
    with pytest.raises(LayoutError, match="names a column twice"):
        columns_of("date,date")

"""Receipts read together are what each is alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acklog.wire.identifiers import Receipt, parse_receipt, parse_receipts

IDS = st.sampled_from(["0123456789abc", "zzzzzzzzzzzzz"])
SMALL = st.sampled_from([0, 1, 12])
WHOLE = st.builds(Receipt, IDS, SMALL, st.integers(0, 10**18 - 1), IDS, SMALL, SMALL, st.integers(1, 3)).map(str)
ODD = ["00", "01", "", "-", "-1", "1-2", "1" + "0" * 18, "²", "٣", " 1", "1 ", "+1", "1_0"]
ODD_IN_A_LIST = ["1,2", "[1]", "1.0", "1e2", "9" * 5_000, "1-0123456789abc-0-1-1\nr-0123456789abc-1-2"]
DIGITS = st.sampled_from(["0", "9" * 18, *ODD])
NEAR = st.builds(lambda digits: f"r-0123456789abc-1-{digits}-0123456789abc-0-1-1", DIGITS)
TEXTS = st.one_of(WHOLE, WHOLE, NEAR, st.text(max_size=6), st.none(), st.sampled_from(["\0", "\0\0", "\0001\0"]))


@given(st.lists(TEXTS, max_size=12))
def test_together_or_alone(texts: list[str | None]) -> None:
    assert parse_receipts(texts) == [None if text is None else parse_receipt(text) for text in texts]


def test_those_of_one_answer() -> None:
    receipts = [Receipt("0123456789abc", 3, offset, "zzzzzzzzzzzzz", 0, 7, 1) for offset in range(1_000)]
    assert parse_receipts([str(each) for each in receipts]) == receipts


ALIKE = st.one_of(
    st.integers(0, 10**18 - 1).map(str),
    DIGITS,
    st.sampled_from(ODD_IN_A_LIST),
).map(lambda digits: f"r-0123456789abc-1-{digits}-0123456789abc-0-1-1")


@given(st.lists(st.integers(0, 10**18 - 1), min_size=6, max_size=12), st.lists(ALIKE, max_size=3), st.data())
def test_those_that_differ_in_their_offsets_alone(offsets: list[int], near: list[str], data: st.DataObject) -> None:
    texts = [f"r-0123456789abc-1-{offset}-0123456789abc-0-1-1" for offset in offsets]
    for text in near:
        texts.insert(data.draw(st.integers(0, len(texts))), text)
    assert parse_receipts(texts) == [parse_receipt(text) for text in texts]


@pytest.mark.parametrize("digits", [*ODD, *ODD_IN_A_LIST])
def test_one_odd_among_those_that_differ_in_their_offsets_alone(digits: str) -> None:
    texts = [f"r-0123456789abc-1-{each}-0123456789abc-0-1-1" for each in (*range(5), digits, *range(5, 10))]
    assert parse_receipts(texts) == [parse_receipt(text) for text in texts]


@pytest.mark.parametrize("position", [0, 5, 9])
@pytest.mark.parametrize("field", [{"partition": 2}, {"group_id": "zzzzzzzzzzzzz"}, {"attempt": 2}])
def test_one_that_differs_in_more_than_its_offset(field: dict[str, object], position: int) -> None:
    receipts = [Receipt("0123456789abc", 1, offset, "0123456789abc", 0, 1, 1) for offset in range(10)]
    receipts[position] = receipts[position]._replace(**field)  # type: ignore[arg-type]
    assert parse_receipts([str(each) for each in receipts]) == receipts

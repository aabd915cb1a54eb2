"""The arithmetic of availability, and a short run of the program that measures it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests.integration.cluster.availability import SCHEDULE, document_of, measure, table_of
from tests.integration.cluster.availability_windows import Phase, availability_of


def test_a_window_is_good_when_something_was_acknowledged_in_it() -> None:
    phase = Phase("storm", 10.0, 14.5)  # four whole windows
    found = availability_of(phase, {0: [9.0, 10.0, 11.9, 14.2], 1: [10.5, 11.5, 12.5, 13.5, 14.4]})
    assert (found.windows, found.good_windows) == (8, 6)
    assert found.share == 0.75
    assert found.longest_gap_s == pytest.approx(2.3)
    assert found.median_gap_s == pytest.approx(2.3)


def test_a_partition_without_any_success_was_never_available() -> None:
    found = availability_of(Phase("storm", 0.0, 3.0), {0: [], 1: [], 2: [0.5, 1.5, 2.5]})
    assert (found.windows, found.good_windows) == (9, 3)
    assert (found.longest_gap_s, found.median_gap_s) == (3.0, 3.0)


def test_a_phase_shorter_than_a_window_says_nothing() -> None:
    assert availability_of(Phase("blink", 0.0, 0.5), {0: []}).share == 1.0


@pytest.mark.faults
@pytest.mark.integration
@pytest.mark.timeout(600)
async def test_the_program_measures(tmp_path: Path, etcd_program: Path) -> None:
    names: list[str] = []
    found = await measure(etcd_program, tmp_path, partitions=3, schedule=SCHEDULE[:2], tell=names.append)
    assert names == [fault.name for fault in SCHEDULE[:2]]
    assert [each.phase for each in found] == [*names, "the whole schedule"]
    assert found[0].share > 0.9
    assert all(each.good_windows for each in found)
    document = msgspec.json.decode(await asyncio.to_thread(document_of, found, partitions=3))
    assert [row["phase"] for row in document["phases"]] == [each.phase for each in found]
    assert table_of(found).row_count == len(found)

"""A file with gathered writes is, to its readers, the file that it stands for; whatever fails meanwhile."""

import contextlib
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.disk.port import DiskFullError
from storage.log.write_behind import FILE_BYTES_MAX, WriteBehindBudget, WriteBehindFile
from tests.sim.sim_disk import SimDisk

SIZES = st.sampled_from([1, 7, 100, 700, FILE_BYTES_MAX])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(SIZES, min_size=1, max_size=3)),
        st.tuples(st.just("remember"), st.lists(SIZES, min_size=1, max_size=3)),
        st.tuples(st.just("flush"), st.just([])),
        st.tuples(st.just("sync"), st.just([])),
        st.tuples(st.just("truncate"), st.lists(st.integers(0, 100), min_size=1, max_size=1)),
        st.tuples(st.just("cut"), st.lists(st.integers(0, 100), min_size=1, max_size=1)),
        st.tuples(st.just("capacity"), st.lists(st.sampled_from([0, 50, 500, 10**7]), min_size=1, max_size=1)),
    ),
    max_size=25,
)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.sampled_from([0, 150, 10**6]))
def test_readers_see_every_write_and_no_more(steps: list[tuple[str, list[int]]], budget_bytes: int) -> None:
    disk = SimDisk()
    budget = WriteBehindBudget(budget_bytes)
    file = WriteBehindFile(disk.create("a"), budget)
    model = b""
    for number, (name, numbers) in enumerate(steps):
        if name == "append":
            parts = [bytes([33 + (number + at) % 90]) * size for at, size in enumerate(numbers)]
            try:
                file.write(len(model), [memoryview(bytearray(part)) for part in parts])
            except DiskFullError:
                file.cut(len(model))  # as the group commit does with a refused append
            else:
                model += b"".join(parts)
        elif name == "remember":
            part = bytes([33 + number % 90]) * sum(numbers)
            operations = disk.operations
            if file.write_to_memory(len(model), len(part), [memoryview(part)[:1], memoryview(part)[1:]]):
                model += part
                assert budget.held_bytes <= budget_bytes
            assert disk.operations == operations
        elif name == "capacity":
            disk.capacity_bytes = disk.used_bytes + numbers[0]
        elif name in {"truncate", "cut"}:
            size = len(model) * numbers[0] // 100
            getattr(file, name)(size)
            model = model[:size]
        else:
            with contextlib.suppress(DiskFullError):
                getattr(file, name)()
        assert file.size() == len(model)
        for position in {0, len(model) // 2, max(len(model) - 5, 0), len(model)}:
            for length in (0, 1, 50, len(model) + 1):
                assert file.read(position, length) == model[position : position + length]
                cached = file.read_cached(position, length)
                assert cached is None or cached == model[position : position + length]
        assert budget.held_bytes == file.gathered_bytes
        assert file.gathered_bytes < FILE_BYTES_MAX or name != "append" or disk.free_bytes() == 0
    disk.capacity_bytes = disk.used_bytes + 10**8
    file.sync()
    disk.sync_directory("")
    assert budget.held_bytes == 0
    disk.power_loss(random.Random(1))
    assert disk.open("a").read(0, len(model) + 1) == model

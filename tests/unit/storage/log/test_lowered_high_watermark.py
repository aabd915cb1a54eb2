"""The checkpoint of high watermarks before a log is cut below what was committed."""

from storage.log.high_watermarks import HighWatermarks
from storage.log.keys import LogKey
from storage.log.log_table import LogKind
from tests.sim.environment import SimExecutor
from tests.sim.sim_disk import SimDisk

KEY = LogKey("t", 0, LogKind.MESSAGES)
OTHER = LogKey("t", 1, LogKind.MESSAGES)


async def test_it_is_lower_on_the_disk_before_anything_is_cut() -> None:
    disk, io = SimDisk(seed=1), SimExecutor(1)
    for key in (KEY, OTHER):
        disk.make_directory(key.directory)
    before = await HighWatermarks.read(disk, io)
    await before.write({KEY: 100, OTHER: 70})
    known = await HighWatermarks.read(disk, io)
    await known.lower(KEY, 200)
    assert known.get(KEY) == 100, "lower, and never higher"
    await known.lower(KEY, 40)
    again = await HighWatermarks.read(disk, io)
    assert (known.get(KEY), again.get(KEY), again.get(OTHER)) == (40, 40, 70)
    await known.write({OTHER: 71})
    assert (await HighWatermarks.read(disk, io)).get(KEY) == 40, "of a log that nobody has spoken of since"

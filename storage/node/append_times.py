"""When the messages were appended that groups are at."""

from itertools import islice

from cluster.errors import ServerError
from storage.log.keys import LogKey
from storage.node.replicas.led_partition import Partition

UNTOLD_MS = -1
_NO_MORE_THAN_ONE_BATCH = 1
_Place = tuple[LogKey, int, int]


async def append_time_at(partition: Partition, offset: int) -> int:
    """By one read of one batch at most; UNTOLD_MS where no message is there, or it cannot be read."""
    host = partition.host
    at_once_ms = _without_a_read(partition, offset)
    if at_once_ms is not None:
        return at_once_ms
    try:
        found = await host.log.read_stored(offset, max_bytes=_NO_MORE_THAN_ONE_BATCH, until=host.high_watermark)
    except ServerError:  # whoever reads the messages hears of it
        return UNTOLD_MS
    return found[0].header.append_time_ms if found else UNTOLD_MS


def _without_a_read(partition: Partition, offset: int) -> int | None:
    """None: that takes a read."""
    host = partition.host
    if not host.readable_start <= offset < host.high_watermark:
        return UNTOLD_MS
    cached = partition.reader.cached(offset)
    return None if cached is None else cached.header.append_time_ms


class AppendTimes:
    """Of one node, for who looks often and at many: what is not known yet is looked up soon, a little at a time.

    What is committed under a leader never changes, so what was found stays true for as long as it leads. At most
    `known_max` are kept, the ones found longest ago go first; as many may wait to be looked up.
    """

    def __init__(self, *, known_max: int, reads_at_once: int) -> None:
        self._known_max = known_max
        self._reads_at_once = reads_at_once
        self._known: dict[_Place, int] = {}
        self._wanted: dict[_Place, Partition] = {}

    def near(self, partition: Partition, offset: int) -> int:
        """Without a read. Until it was looked up: not later than the message, and earlier by what stands between two
        rows of the index, or by a segment where its index is not in memory. UNTOLD_MS where no message is there."""
        at_once_ms = _without_a_read(partition, offset)
        if at_once_ms is not None:
            return at_once_ms
        host = partition.host
        place = (host.log.key, host.leader_epoch, offset)
        known_ms = self._known.get(place)
        if known_ms is not None:
            return known_ms
        if len(self._wanted) < self._known_max:
            self._wanted[place] = partition
        return host.log.append_time_near(offset)

    async def look_up(self) -> None:
        """Some of what was asked for and is not known."""
        for place in list(islice(self._wanted, self._reads_at_once)):
            time_ms = await append_time_at(self._wanted.pop(place), place[-1])
            if time_ms != UNTOLD_MS:
                self._known[place] = time_ms
        for place in list(islice(self._known, max(len(self._known) - self._known_max, 0))):
            del self._known[place]

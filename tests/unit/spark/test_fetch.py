"""What a page that came in must be before its messages are believed."""

from typing import Any

import pytest

from acklog.client.call import Call, Response
from acklog.errors import LogDiverged, MessageExpired, NodesTooOld, OffsetOutOfRange, RecordsCorrupt, UnknownField
from acklog.wire.batch import encode_batch, encode_opaque_batch, stamp
from acklog.wire.record import Record
from pyspark_acklog import fetch
from pyspark_acklog.failures import DataLossError, SparkSourceError, TopicChangedError
from pyspark_acklog.fetch import Gap
from pyspark_acklog.options import FetchOptions, parse_read
from pyspark_acklog.ranges import OffsetRange
from tests.unit.wire.test_log_page import page

TOPIC_ID = "t" * 13
RANGE = OffsetRange("flights", TOPIC_ID, 2, 0, 20)


def options(**given: str) -> FetchOptions:
    return parse_read({"url": "http://127.0.0.1:9", "topic": "flights", **given}).fetch


def checked(
    content: bytes, *, next_offset: int, offset: int = 0, topic_id: str = TOPIC_ID, gaps: list[Gap] | None = None
) -> fetch.Page:
    on_gap: Any = None if gaps is None else gaps.append
    given = options() if gaps is None else options(failOnDataLoss="false")
    headers = {"x-acklog-topic-id": topic_id, "x-acklog-next-offset": str(next_offset)}
    fetching = fetch._Fetching(RANGE, given, on_gap)
    return fetching._checked(offset, Response(200, content, headers))


def offsets(found: fetch.Page) -> list[int]:
    return [offset for batch in found.batches for offset in batch.column("offset").to_pylist()]


def test_a_page_has_what_it_says() -> None:
    found = checked(page(3, 4), next_offset=7, offset=1)
    assert (found.offset, found.next_offset, found.size_bytes) == (1, 7, len(page(3, 4)))
    assert offsets(found) == [1, 2, 3, 4, 5, 6]


def test_what_lies_behind_the_range_is_left_out() -> None:
    found = checked(page(15, 10), next_offset=25)
    assert found.next_offset == 20
    assert offsets(found) == list(range(20))


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (page(3, base_offset=2), (0, 2)),  # at its beginning
        (page(2) + page(3, base_offset=4), (2, 4)),  # between its batches
        (page(3), (3, 5)),  # at its end
        (b"", (0, 5)),
    ],
)
def test_no_offset_is_left_out_in_silence(content: bytes, missing: tuple[int, int]) -> None:
    next_offset = 7 if missing == (2, 4) else 5
    with pytest.raises(DataLossError, match=f"offsets {missing[0]} to {missing[1] - 1} of flights-2"):
        checked(content, next_offset=next_offset)
    gaps: list[Gap] = []
    found = checked(content, next_offset=next_offset, gaps=gaps)
    assert [(gap.start, gap.end, gap.reason) for gap in gaps] == [(*missing, "missing")]
    assert offsets(found) == [offset for offset in range(next_offset) if not missing[0] <= offset < missing[1]]


def test_another_topic_of_that_name_is_not_read() -> None:
    with pytest.raises(TopicChangedError, match="was deleted and made anew"):
        checked(page(3), next_offset=3, topic_id="u" * 13)


def test_damaged_pages_are_one_line() -> None:
    with pytest.raises(SparkSourceError, match="flights-2, from 0 on: a batch is damaged: only 5 bytes are left"):
        checked(page(3) + b"12345", next_offset=3)
    content = bytearray(page(3))
    content[-1] ^= 1
    with pytest.raises(SparkSourceError, match="flights-2, from 0 on: a batch is damaged: the checksum"):
        offsets(checked(bytes(content), next_offset=3))


def undecodable(base_offset: int, count: int) -> bytes:
    batch = encode_opaque_batch(b"\xc1", count=count)
    stamp(batch, base_offset=base_offset, leader_epoch=1, append_time_ms=1)
    return bytes(batch)


def test_a_batch_that_cannot_be_decoded_is_a_gap_or_an_error() -> None:
    content = page(3) + undecodable(3, 4) + page(3, base_offset=7)
    with pytest.raises(SparkSourceError, match="it says 4 messages and holds 0"):
        offsets(checked(content, next_offset=10))
    gaps: list[Gap] = []
    assert offsets(checked(content, next_offset=10, gaps=gaps)) == [0, 1, 2, 7, 8, 9]
    assert [(gap.start, gap.end, gap.reason) for gap in gaps] == [(3, 7, "damaged")]


class Corrupt:
    """A server that refuses one offset."""

    async def perform(self, _call: object) -> object:
        raise RecordsCorrupt("log is damaged", extra={"offset": 3, "next_offset": 7})


async def test_what_the_server_cannot_read_is_a_gap_or_an_error() -> None:
    caller: Any = Corrupt()
    with pytest.raises(RecordsCorrupt):
        await fetch._Fetching(RANGE, options(), None)._page(caller, 3)
    lenient = options(failOnDataLoss="false")
    assert await fetch._Fetching(RANGE, lenient, None)._page(caller, 3) == Gap("flights", 2, 3, 7, "damaged")
    with pytest.raises(RecordsCorrupt):
        await fetch._Fetching(RANGE, lenient, None)._page(caller, 7)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, 4 * 1024 * 1024),
        ({"maxBytesPerSecond": "20m"}, 1024 * 1024),
        ({"maxBytesPerSecond": "20m", "fetchBytes": "64k"}, 64 * 1024),
        ({"maxBytesPerSecond": "1g"}, 4 * 1024 * 1024),
    ],
)
def test_a_rate_is_kept_in_small_requests(given: dict[str, str], expected: int) -> None:
    assert fetch.page_bytes(options(**given)) == expected


class Gateways:
    """Answers one after the other; an error is raised."""

    def __init__(self, *answers: Response | Exception) -> None:
        self.answers = list(answers)
        self.targets: list[str] = []

    async def perform(self, call: Call[Response]) -> Response:
        self.targets.append(call.request.target)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def answered(next_offset: int, *, offset: int, epoch: int | None) -> Response:
    headers = {"x-acklog-topic-id": TOPIC_ID, "x-acklog-next-offset": str(next_offset)}
    if epoch is not None:
        headers["x-acklog-epoch"] = str(epoch)
    return Response(200, page(next_offset - offset, base_offset=offset), headers)


async def read(gateways: Gateways, *offsets: int, **given: str) -> list[Any]:
    caller: Any = gateways
    fetching = fetch._Fetching(RANGE, options(**given), None)
    return [await fetching._page(caller, offset) for offset in offsets]


def epochs_told(gateways: Gateways) -> list[str]:
    return [target.partition("epoch=")[2].partition("&")[0] for target in gateways.targets]


async def test_it_says_where_it_has_been() -> None:
    gateways = Gateways(
        answered(4, offset=0, epoch=3), answered(8, offset=4, epoch=5), answered(9, offset=8, epoch=None)
    )
    assert [found.next_offset for found in await read(gateways, 0, 4, 8)] == [4, 8, 9]
    assert epochs_told(gateways) == ["", "3", "5"]


async def test_a_gateway_of_an_earlier_version_is_not_told() -> None:
    """In the middle of an upgrade it would refuse what it does not know."""
    unknown = UnknownField("epoch is not known", field="epoch")
    gateways = Gateways(answered(4, offset=0, epoch=3), unknown, answered(8, offset=4, epoch=None))
    assert [found.next_offset for found in await read(gateways, 0, 4)] == [4, 8]
    assert epochs_told(gateways) == ["", "3", ""]


async def test_a_log_that_was_cut_behind_it_is_a_loss_of_data() -> None:
    """And not other messages at the offsets that it goes on with."""
    cut = LogDiverged("it was cut", extra={"divergedAt": 2, "leaderEpoch": 5})
    with pytest.raises(DataLossError, match="flights-2 was cut at 2 after it had been read up to 4"):
        await read(Gateways(answered(4, offset=0, epoch=3), cut), 0, 4)


async def test_an_end_that_another_leader_knows_better_is_waited_for() -> None:
    """A replica that is behind, of a version that says so with 416."""
    behind = OffsetOutOfRange("outside", extra={"logStart": 0, "highWatermark": 2})
    [found] = await read(Gateways(behind), 4)
    assert (found.offset, found.next_offset, found.content) == (4, 4, b"")


async def test_a_partition_that_is_gone_lacks_all_that_was_to_be_read() -> None:
    gone = MessageExpired("the partition was decommissioned, and is gone")
    [found] = await read(Gateways(gone), 4)
    assert (found.start, found.end, found.reason) == (4, 20, "retention")  # R42


def tagged(base_offset: int, *tags: str) -> bytes:
    batch = encode_batch([Record(b"{}", None, tags=(tag,)) for tag in tags])
    stamp(batch, base_offset=base_offset, leader_epoch=1, append_time_ms=1)
    return bytes(batch)


def page_of(content: bytes, next_offset: int) -> Response:
    return Response(200, content, {"x-acklog-topic-id": TOPIC_ID, "x-acklog-next-offset": str(next_offset)})


async def test_a_filter_is_the_servers_and_what_comes_beside_a_match_goes_here() -> None:
    """What they leave out is no loss: `failOnDataLoss` is on."""
    gateways = Gateways(page_of(tagged(4, "x", "y", "x"), 12), page_of(b"", 20))
    found = await read(gateways, 0, 12, filter='tag = "x"')
    assert [offsets(each) for each in found] == [[4, 6], []]
    assert all("filter=tag%20%3D%20%22x%22" in target for target in gateways.targets)


@pytest.mark.parametrize(
    "refused",
    [UnknownField("filter is not known", field="filter"), NodesTooOld("a node knows no filters", field="filter")],
)
async def test_a_server_that_knows_no_filters_is_read_whole(refused: Exception) -> None:
    gateways = Gateways(refused, page_of(tagged(0, "x", "y", "x"), 3), page_of(tagged(5, "x"), 6))
    [found] = await read(gateways, 0, filter='tag = "x"')
    assert offsets(found) == [0, 2]
    assert ["filter=" in target for target in gateways.targets] == [True, False]


async def test_where_the_filter_is_not_the_servers_a_hole_is_a_loss() -> None:
    gateways = Gateways(UnknownField("what is that", field="filter"), page_of(tagged(2, "x"), 3))
    with pytest.raises(DataLossError, match="offsets 0 to 1 of flights-2"):
        await read(gateways, 0, filter='tag = "x"')

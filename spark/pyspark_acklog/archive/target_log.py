"""The topic that a replay sends to, and what of the replay it has already."""

import time
from types import TracebackType
from typing import Self

from acklog.client.background import Background
from acklog.client.call import Call, Request, Response, raise_for_problem, segment, target
from acklog.errors import AcklogError, OffsetOutOfRange
from acklog.wire.batch import BatchCorruptError, decode_keys
from acklog.wire.log_page import MEDIA_TYPE, verified
from pyspark_acklog.archive.replay_plan import ReplayPlan, stored_keys
from pyspark_acklog.connection import Connection
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.failures import of_server

FETCH_BYTES = 4 * 1024 * 1024
LOOK_AGAIN_AFTER_S_MAX = 60.0
_PARTS_OF_WINDOW = 4


class TargetLog:
    """Knows which batches of the replay a partition has, from where it ended when the replay began.

    Another process may still be sending the same replay: so it looks again well within the deduplication window, in
    which the server itself tells a batch that is sent twice.
    """

    def __init__(self, plan: ReplayPlan, connection: Connection) -> None:
        self._plan = plan
        self._connection = connection
        self._background = Background("acklog-replay-scan")
        self._caller = connection.caller()
        self._next_offsets = {each.partition: each.end_before for each in plan.targets}
        self._looked_at_s: dict[int, float] = {}
        self._keys: dict[int, set[str]] = {each.partition: set() for each in plan.targets}
        self._look_again_s = min(LOOK_AGAIN_AFTER_S_MAX, plan.dedup_window_ms / 1000 / _PARTS_OF_WINDOW)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._background.run(self._caller.close)
        self._background.close()

    def has(self, key: str, partition: int) -> bool:
        """Whether the batch is stored. Raises SparkSourceError."""
        if key in self._keys[partition]:
            return True
        looked_at_s = self._looked_at_s.get(partition)
        now_s = time.monotonic()
        if looked_at_s is not None and now_s - looked_at_s < self._look_again_s:
            return False
        self._looked_at_s[partition] = now_s  # when it began: what comes while it reads may be overlooked
        self._look(partition)
        return key in self._keys[partition]

    def _look(self, partition: int) -> None:
        while True:
            offset = self._next_offsets[partition]
            response = self._page(partition, offset)
            topic_id = response.headers.get("x-acklog-topic-id", self._plan.target_id)
            if topic_id != self._plan.target_id:
                raise ExportError(f"{self._plan.target} was deleted and made anew while it was sent to")
            self._keys[partition] |= stored_keys(keys_in(response.body), self._plan.name)
            next_offset = max(offset, int(response.headers["x-acklog-next-offset"]))
            self._next_offsets[partition] = next_offset
            if next_offset == offset or next_offset >= int(response.headers["x-acklog-high-watermark"]):
                return

    def _page(self, partition: int, offset: int) -> Response:
        query: list[tuple[str, object | None]] = [("offset", offset), ("maxBytes", FETCH_BYTES)]
        path = f"/topics/{segment(self._plan.target)}/partitions/{partition}/records"
        call = Call(Request("GET", target(path, query), headers={"Accept": MEDIA_TYPE}), _successful)
        try:
            return self._background.run(lambda: self._caller.perform(call))
        except OffsetOutOfRange as error:
            log_start = error.extra.get("logStart")
            if not isinstance(log_start, int) or log_start <= offset:
                raise of_server(error, self._connection.urls, f"reading {self._plan.target}") from None
            raise ExportError(
                f"retention has removed messages that {self._plan.target} got since replay {self._plan.name!r} began,"
                " so it cannot be told what was sent: begin another one with --name, and the offsets that are missing"
            ) from None
        except AcklogError as error:
            raise of_server(error, self._connection.urls, f"reading {self._plan.target}") from None


def keys_in(batches: bytes) -> list[str]:
    """The idempotency keys of stored batches. Raises ExportError for bytes that are none."""
    try:
        return [key.key for at, header in verified(batches) for key in decode_keys(batches, header, at)]
    except BatchCorruptError as error:
        raise ExportError(f"the server sent a batch that is damaged: {error.reason}") from None


def _successful(response: Response) -> Response:
    raise_for_problem(response)
    return response

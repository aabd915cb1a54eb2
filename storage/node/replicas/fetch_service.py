"""A leader's side of the fetch sessions, hosted: fetches wait here for news, and answers are read from the logs."""

import asyncio
from typing import Protocol

import structlog

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock
from storage.node.replicas.served_follower import ServedFollower
from storage.replication.fetch_answer import AnswerInMaking, Read
from storage.replication.followers import NEVER
from storage.replication.leader_events import FetchVerdict, FollowerFetched
from storage.replication.messages import FetchAnswer, FetchMode, FetchRequest, PartitionFetch, PartitionId
from storage.replication.replication_settings import ReplicationSettings
from storage.replication.served_session import LogView

logger = structlog.get_logger(__name__)


class LeadReplicas(Protocol):
    """The replicas of this node, whatever their role. Nothing of this raises but `read`."""

    def judge(self, partition: PartitionId, event: FollowerFetched) -> FetchVerdict:
        """What the leader says of a fetch; a refusal where there is no leader, or no such replica."""
        ...

    def heard_again(self, partition: PartitionId) -> None:
        """A follower of it that was silent for `contact_ms` fetches, and has nothing new to say of it."""
        ...

    def views(self, partition: PartitionId) -> tuple[LogView, ...]:
        """The logs as they are now, () where there is no such replica. Only asked where `judge` refused nothing."""
        ...

    async def read(self, read: Read) -> bytes:
        """Raises ServerError; then the follower is given nothing of it for a moment."""
        ...


class FetchService:
    """One session per follower's node and mode. Nothing is done per fetch for partitions without news.

    `changed` is told after everything that moves a leader's logs or high watermarks, `refused` when this node's
    leadership of an epoch ends. Both may be called at any time, also from within `judge`.
    """

    def __init__(self, replicas: LeadReplicas, *, clock: Clock, settings: ReplicationSettings) -> None:
        self._replicas = replicas
        self._clock = clock
        self._settings = settings
        self._idle_ms = 10 * (settings.fetch_wait_ms + settings.fetch_answer_timeout_ms)
        self._followers: dict[tuple[int, FetchMode], ServedFollower] = {}
        self._served: dict[PartitionId, dict[ServedFollower, None]] = {}  # where nothing is refused
        self._changed: dict[PartitionId, None] = {}
        self._is_telling_due = False
        self._retries: dict[PartitionId, asyncio.TimerHandle] = {}
        self._making: dict[asyncio.Task[None], None] = {}
        self._is_stopped = False

    # --- what followers ask ------------------------------------------------------------------------------------------

    async def fetch(self, request: FetchRequest) -> FetchAnswer:
        """Raises ServerError: SHUTTING_DOWN, UNSUPPORTED for a mode that is not known."""
        await self._follower_of(request).wait_for_predecessor(request)
        follower = self._follower_of(request)
        served, heard_ms = follower.served, follower.heard_ms
        accepted = follower.accept(request, self._clock.monotonic_ms())
        for partition in request.forgotten if follower.served is served else served:
            self._unserve(follower, partition)
        if isinstance(accepted, FetchAnswer):
            self._turn(follower)
            return accepted
        if follower.heard_ms - heard_ms >= self._settings.contact_ms:
            for partition in list(follower.served):
                self._replicas.heard_again(partition)
        for fetch in request.partitions:
            self._judge(follower, request, fetch)
        self._turn(follower)
        return await accepted

    def followers_heard(self, partition: PartitionId) -> dict[int, int]:
        """When each node last sent a fetch of a session in which the partition is served, by the monotonic clock."""
        heard: dict[int, int] = {}
        for follower in self._served.get(partition, ()):
            heard[follower.node_id] = max(follower.heard_ms, heard.get(follower.node_id, 0))
        return heard

    def followers_followed(self, partition: PartitionId) -> dict[int, int]:
        """When each of these nodes surely followed the partition here, however long its fetches were on their way."""
        followed: dict[int, int] = {}
        for follower in self._served.get(partition, ()):
            followed[follower.node_id] = max(follower.followed_ms, followed.get(follower.node_id, NEVER))
        return followed

    def _follower_of(self, request: FetchRequest) -> ServedFollower:
        if self._is_stopped:
            raise _shutting_down()
        try:
            place = (request.follower.node_id, FetchMode(request.mode))
        except ValueError as error:
            raise ServerError(ProblemCode.UNSUPPORTED, f"fetch mode {request.mode} is not known here") from error
        follower = self._followers.get(place)
        if follower is None:
            follower = self._followers[place] = ServedFollower(place, self._settings)
        return follower

    def _judge(self, follower: ServedFollower, request: FetchRequest, fetch: PartitionFetch) -> None:
        event = FollowerFetched(request.follower, fetch.leader_epoch, tuple(fetch.positions))
        verdict = self._replicas.judge(fetch.id, event)
        views = () if verdict.refusal is not None else self._replicas.views(fetch.id)
        follower.judged(fetch.id, verdict, views)
        if verdict.refusal is None:
            self._served.setdefault(fetch.id, {})[follower] = None
        else:
            self._unserve(follower, fetch.id)

    def _unserve(self, follower: ServedFollower, partition: PartitionId) -> None:
        """Unless the session has it still, or again."""
        served = self._served.get(partition)
        if served is not None and partition not in follower.served:
            served.pop(follower, None)
            if not served:
                del self._served[partition]

    # --- what leaders say --------------------------------------------------------------------------------------------

    def changed(self, partition: PartitionId) -> None:
        """The logs or high watermarks of a leader moved. Taken up once for everything that changes at this moment."""
        if partition not in self._served:
            return
        self._changed[partition] = None
        if not self._is_telling_due:
            self._is_telling_due = True
            asyncio.get_running_loop().call_soon(self._tell)

    def hurry(self, partition: PartitionId) -> None:
        """Answer the fetches that wait in its sessions, news or not: the followers fetch again at once."""
        for follower in list(self._served.get(partition, ())):
            follower.hurry()
            self._turn(follower)

    def refused(self, partition: PartitionId, verdict: FetchVerdict) -> None:
        """This node's leadership of the partition is over: whoever fetches from it is told, with this verdict."""
        for follower in self._served.pop(partition, ()):
            follower.refused(partition, verdict)
            self._turn(follower)

    def stop(self) -> None:
        """Answer everything that waits with SHUTTING_DOWN, and whatever comes later."""
        self._is_stopped = True
        for retry in self._retries.values():
            retry.cancel()
        for task in self._making:
            task.cancel()
        for follower in self._followers.values():
            follower.fail(_shutting_down())
        self._retries.clear()
        self._followers.clear()
        self._served.clear()
        self._changed.clear()

    def _tell(self) -> None:
        self._is_telling_due = False
        changed, self._changed = self._changed, {}
        woken: dict[ServedFollower, None] = {}
        for partition in changed:
            followers = self._served.get(partition)
            views = self._replicas.views(partition) if followers else ()
            if followers and views:
                for follower in followers:
                    follower.changed(partition, views)
                    woken[follower] = None
        for follower in woken:
            self._turn(follower)

    # --- a session's turn --------------------------------------------------------------------------------------------

    def _turn(self, follower: ServedFollower) -> None:
        """Make the answers that are due, and come back when the next one is."""
        now_ms = self._clock.monotonic_ms()
        while (making := follower.begin_answer(now_ms)) is not None:
            read = making.next_read()
            if read is not None:
                task = asyncio.get_running_loop().create_task(self._make(follower, making, read))
                self._making[task] = None
                task.add_done_callback(self._making.pop)
                return
            follower.end_answer(making.finish(), self._clock.monotonic_ms())
        if not follower.is_making:
            self._arm(follower, now_ms)

    async def _make(self, follower: ServedFollower, making: AnswerInMaking, first: Read) -> None:
        try:
            read: Read | None = first
            while read is not None:
                making.add(read, await self._read(read))
                read = making.next_read()
            follower.end_answer(making.finish(), self._clock.monotonic_ms())
        except Exception as error:  # the follower is told, and begins anew
            logger.exception("fetch_answer_failed", follower=follower.node_id)
            self._drop(follower, error)
            return
        self._turn(follower)

    async def _read(self, read: Read) -> bytes:
        """Nothing where reading fails; it is tried again in a moment, or when the log changes."""
        try:
            return await self._replicas.read(read)
        except ServerError as error:
            logger.warning(
                "fetch_read_failed", topic_id=read.id.topic_id, partition=read.id.partition, reason=str(error)
            )
            if read.id not in self._retries:
                self._retries[read.id] = asyncio.get_running_loop().call_later(
                    self._settings.retry_ms / 1000, self._retry, read.id
                )
            return b""

    def _retry(self, partition: PartitionId) -> None:
        del self._retries[partition]
        self.changed(partition)

    def _arm(self, follower: ServedFollower, now_ms: int) -> None:
        if self._is_stopped:
            return
        if follower.timer is not None:
            follower.timer.cancel()
        deadline_ms = follower.next_deadline()
        if deadline_ms is None:
            deadline_ms = follower.heard_ms + self._idle_ms
        wait_s = max(1, deadline_ms - now_ms) / 1000
        follower.timer = asyncio.get_running_loop().call_later(wait_s, self._due, follower)

    def _due(self, follower: ServedFollower) -> None:
        follower.timer = None
        is_idle = self._clock.monotonic_ms() >= follower.heard_ms + self._idle_ms
        if is_idle and follower.next_deadline() is None and not follower.is_making:
            logger.info("follower_is_gone", follower=follower.node_id, mode=follower.place[1].name)
            self._drop(follower, _shutting_down())
        else:
            self._turn(follower)

    def _drop(self, follower: ServedFollower, error: Exception) -> None:
        """Forget the session: the follower's next fetch is of one that is not known here."""
        if self._followers.get(follower.place) is follower:
            del self._followers[follower.place]
        served, follower.served = follower.served, {}
        for partition in served:
            self._unserve(follower, partition)
        follower.fail(error)


def _shutting_down() -> ServerError:
    return ServerError(ProblemCode.SHUTTING_DOWN, "the node is shutting down")

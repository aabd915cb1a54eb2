"""What a gateway knows of the members that receive by it: what they own, for as long as that is so.

Behind a receive a heartbeat waits for a moment at the group's coordinator, which answers at once when the assignment
changes or the member is none any more, whoever has made that so. While it waits, more receives need no heartbeat, and
each of them lies within the member's session; so a session never ends early, and at most `WATCH_MS_MAX` late. A member
that goes on receiving is watched again: a busy one costs two heartbeats a second, whatever it asks.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from app.calls.members import Subscription
from app.services.membership import GroupMembership
from cluster.errors import ServerError
from cluster.model.values import Group
from cluster.ports.clock import Clock
from storage.rpc.membership_messages import JOIN, HeartbeatResponse, Ownership

WATCH_MS_MAX = 500
"""How long such a heartbeat waits."""

WATCHES_PER_SESSION = 4
"""It waits no longer than this part of a session timeout."""

HEARD_MS_MAX = 2 * WATCH_MS_MAX
"""How old an assignment may be that a receive goes by, where the coordinator is not heard. The leaders fence."""

MEMBERS_KNOWN_MAX = 10_000
"""Members that one gateway watches."""


class ReceivingMember(NamedTuple):
    """Who receives: by itself (`member_epoch` JOIN), or as what it has joined as before."""

    group: Group
    name: str
    topic_ids: tuple[str, ...]
    member_epoch: int

    @property
    def subscription(self) -> Subscription:
        return Subscription(self.topic_ids if self.member_epoch == JOIN else ())


_Key = tuple[str, str, tuple[str, ...], int]


class _Watch:
    """`is_used`: a receive went by it since its heartbeat began."""

    def __init__(self, answer: HeartbeatResponse, now_ms: int) -> None:
        self.answer = answer
        self.began_ms = now_ms
        self.is_used = False
        self.task: asyncio.Task[None] | None = None


class WatchedAssignments:
    def __init__(self, membership: GroupMembership, *, clock: Clock) -> None:
        self._membership = membership
        self._clock = clock
        self._watches: OrderedDict[_Key, _Watch] = OrderedDict()

    def known(self, member: ReceivingMember) -> HeartbeatResponse | None:
        """Its assignment, if it is watched."""
        watch = self._watches.get(_key(member))
        if watch is None or self._clock.monotonic_ms() - watch.began_ms >= HEARD_MS_MAX:
            return None
        watch.is_used = True
        return watch.answer

    async def beat(
        self,
        member: ReceivingMember,
        *,
        known_epoch: int = 0,
        wait_ms: int = 0,
        overtaken: Sequence[Ownership] = (),
    ) -> HeartbeatResponse:
        """As `GroupMembership.heartbeat`. What was known before is not gone by any more."""
        self._forget(_key(member))
        return await self._membership.heartbeat(
            member.group,
            member.name,
            member.subscription,
            member_epoch=member.member_epoch,
            known_epoch=known_epoch,
            wait_ms=wait_ms,
            overtaken=overtaken,
        )

    def watch(self, member: ReceivingMember, answer: HeartbeatResponse, overtaken: Sequence[Ownership] = ()) -> None:
        """It has received by this answer, and may do so again soon. `overtaken` is what leaders refused of it."""
        key = _key(member)
        if overtaken:
            self._forget(key)
        if key in self._watches:
            return
        watch = self._watches[key] = _Watch(answer, self._clock.monotonic_ms())
        watch.task = asyncio.get_running_loop().create_task(self._keep(member, watch, overtaken))
        if len(self._watches) > MEMBERS_KNOWN_MAX:
            self._forget(next(iter(self._watches)))

    async def _keep(self, member: ReceivingMember, watch: _Watch, overtaken: Sequence[Ownership]) -> None:
        """It names the epoch that the member was told, so nobody who has left joins by it."""
        answer = watch.answer
        wait_ms = min(WATCH_MS_MAX, answer.session_timeout_ms // WATCHES_PER_SESSION)
        try:
            while True:
                latest = await self._membership.heartbeat(
                    member.group,
                    member.name,
                    Subscription(()),
                    member_epoch=answer.member_epoch,
                    known_epoch=answer.member_epoch,
                    wait_ms=wait_ms,
                    overtaken=overtaken,
                )
                now_ms = self._clock.monotonic_ms()
                is_same = latest.member_epoch == answer.member_epoch and latest.assigned == answer.assigned
                # One that is answered early was ended there: the member steps out.
                if not is_same or not watch.is_used or now_ms - watch.began_ms < wait_ms:
                    return
                watch.began_ms, watch.is_used, overtaken = now_ms, False, ()
        except ServerError:
            return  # the next receive hears why
        finally:
            if self._watches.get(_key(member)) is watch:
                del self._watches[_key(member)]

    def _forget(self, key: _Key) -> None:
        watch = self._watches.pop(key, None)
        if watch is not None and watch.task is not None:
            watch.task.cancel()


def _key(member: ReceivingMember) -> _Key:
    return member.group.id, member.name, member.topic_ids, member.member_epoch

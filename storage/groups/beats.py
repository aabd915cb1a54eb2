"""Heartbeats: those that wait for news of their member, and the sessions that end without them. In memory alone."""

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import Beat
from storage.groups.exclusive_group import ExclusiveGroup
from storage.groups.joining import names_deleted_topics, records_of, topics_deleted
from storage.groups.member import GroupMember
from storage.groups.reassignment import renumbered_above
from storage.groups.records import GroupRecord, MemberGone
from storage.groups.surroundings import ExclusiveTerms, TopicTable
from storage.rpc.membership_messages import JOIN, LEAVE, STEP_OUT, HeartbeatRequest, HeartbeatResponse

Answer = tuple[int, HeartbeatResponse | ServerError]

_TOO_MANY_RETRY_MS = 1_000


class _Asking(NamedTuple):
    """A heartbeat that was taken, until it is answered."""

    request: HeartbeatRequest
    group: ExclusiveGroup
    member: GroupMember


class Beats:
    """`groups` is the coordinator's, which `change` changes."""

    def __init__(
        self,
        groups: Mapping[str, ExclusiveGroup],
        change: Callable[[GroupRecord, int], None],
        settings: CoordinatorSettings,
    ) -> None:
        self._groups = groups
        self._change = change
        self._settings = settings
        self._waiting: dict[int, _Asking] = {}
        self._asking: dict[int, _Asking] = {}
        self._answered: list[Answer] = []
        self._ends: list[tuple[int, int]] = []  # of waits
        self._sessions: list[tuple[int, int, ExclusiveGroup, GroupMember]] = []
        self._serial = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    # --- heartbeats ------------------------------------------------------------------------------------------------

    def take(self, beat: Beat, terms: ExclusiveTerms | None, topics: TopicTable, now_ms: int) -> None:
        """Change what the heartbeat changes. One that is refused is answered so, and changes nothing."""
        request = beat.request
        group = self._groups.get(request.group_id)
        member = None if group is None else group.members.get(request.member)
        try:
            if terms is None:
                raise ServerError(ProblemCode.GROUP_NOT_FOUND, "There is no group with this id.", field="group")
            self._check_room(request, group, member)
            records = records_of(request, group, terms, self._settings, now_ms)
            if names_deleted_topics(request, member, topics):
                raise topics_deleted()
        except ServerError as error:
            self._answered.append((beat.token, error))
            return
        for record in records:
            self._change(record, now_ms)
        group = self._groups[request.group_id]
        renumbered = renumbered_above(group, request.overtaken)
        if renumbered is not None:
            self._change(renumbered, now_ms)
        if request.member_epoch == LEAVE:
            self._answered.append((beat.token, HeartbeatResponse(LEAVE, group.epoch, [], 0)))
            return
        member = group.members[request.member]
        if records:  # what it waits for with other heartbeats is by another subscription now
            self._tell_of_deleted(member, topics, now_ms)
        self._heard(beat.token, _Asking(request, group, member), now_ms)

    def _check_room(self, request: HeartbeatRequest, group: ExclusiveGroup | None, member: GroupMember | None) -> None:
        """Raises ServerError TOO_MANY_WAITING, TOO_MANY_GROUPS."""
        bounds = self._settings
        if group is None and len(self._groups) >= bounds.groups_max and request.member_epoch == JOIN:
            detail = f"{bounds.groups_max} exclusive groups have the same coordinator, the limit"
            raise ServerError(ProblemCode.TOO_MANY_GROUPS, detail)
        if request.wait_ms <= 0:
            return
        of_member = 0 if member is None else len(member.waiting)
        if self.waiting >= bounds.waiting_heartbeats_max or of_member >= bounds.waiting_per_member_max:
            detail = f"{self.waiting} heartbeats wait here, {of_member} of this member: come without waiting, or later"
            raise ServerError(ProblemCode.TOO_MANY_WAITING, detail, retry_after_ms=_TOO_MANY_RETRY_MS)

    def _heard(self, token: int, asking: _Asking, now_ms: int) -> None:
        request, group, member = asking
        self.watch(group, member)
        member.heard(now_ms)
        member.stepped_out = request.member_epoch == STEP_OUT
        if member.stepped_out:
            self._ask_all(member, now_ms)
        if request.wait_ms <= 0 or member.stepped_out or request.known_epoch != member.member_epoch:
            self._asking[token] = asking
            return
        self._waiting[token] = asking
        member.waiting[token] = None
        heapq.heappush(self._ends, (now_ms + min(request.wait_ms, self._settings.wait_ms_max), token))

    def give_up(self, token: int, now_ms: int) -> None:
        """Nobody waits for its answer: whoever it kept alive has a session timeout from now on."""
        self._asking.pop(token, None)
        self._stop_waiting(token, now_ms)

    def member_goes(self, member: GroupMember, now_ms: int) -> None:
        """Before it does: what it waits for will not come."""
        self._ask_all(member, now_ms)

    def topics_changed(self, group: ExclusiveGroup, topics: TopicTable, now_ms: int) -> None:
        """Who subscribes to one that is no more by its name is told, also if none of its partitions were its own."""
        for member in group.members.values():
            self._tell_of_deleted(member, topics, now_ms)

    def _tell_of_deleted(self, member: GroupMember, topics: TopicTable, now_ms: int) -> None:
        for token in list(member.waiting):
            if names_deleted_topics(self._waiting[token].request, member, topics):
                self._ask(token, now_ms)

    def _ask_all(self, member: GroupMember, now_ms: int) -> None:
        for token in list(member.waiting):
            self._ask(token, now_ms)

    def _ask(self, token: int, now_ms: int) -> None:
        asking = self._stop_waiting(token, now_ms)
        if asking is not None:
            self._asking[token] = asking

    def _stop_waiting(self, token: int, now_ms: int) -> _Asking | None:
        asking = self._waiting.pop(token, None)
        if asking is not None:
            del asking.member.waiting[token]
            asking.member.heard(now_ms)
        return asking

    # --- answers ---------------------------------------------------------------------------------------------------

    def answers(self, touched: Iterable[str], topics: TopicTable, now_ms: int) -> list[Answer]:
        """Of those who asked, of those whose time is up, and of those in the `touched` groups for whom that is news."""
        for group_id in touched:
            group = self._groups.get(group_id)
            for member in () if group is None else group.members.values():
                for token in list(member.waiting):
                    if self._waiting[token].request.known_epoch != member.member_epoch:
                        self._ask(token, now_ms)
        while self._ends and self._ends[0][0] <= now_ms:
            self._ask(heapq.heappop(self._ends)[1], now_ms)
        answered, self._answered = self._answered, []
        asking, self._asking = self._asking, {}
        answered += ((token, self._answer(each, topics)) for token, each in asking.items())
        return answered

    def _answer(self, asking: _Asking, topics: TopicTable) -> HeartbeatResponse | ServerError:
        request, group, member = asking
        if self._groups.get(group.group_id) is not group:
            return ServerError(ProblemCode.GROUP_NOT_FOUND, "The group was deleted.", field="group")
        if group.members.get(member.name) is not member:
            is_taken = member.name in group.members
            code = ProblemCode.MEMBER_FENCED if is_taken else ProblemCode.MEMBER_UNKNOWN
            detail = "another process has taken the name" if is_taken else f"{member.name!r} has left meanwhile"
            return ServerError(code, detail, field="member")
        if names_deleted_topics(request, member, topics):
            return topics_deleted()
        return HeartbeatResponse(member.member_epoch, group.epoch, group.owned_by(member), member.session_timeout_ms)

    # --- sessions --------------------------------------------------------------------------------------------------

    def watch(self, group: ExclusiveGroup, member: GroupMember) -> None:
        """From now on the member goes when it is not heard."""
        if not member.is_watched:
            member.is_watched = True
            self._watch_until(member.deadline_ms, group, member)

    def _watch_until(self, at_ms: int, group: ExclusiveGroup, member: GroupMember) -> None:
        """One entry per member, that moves on when it is reached: heartbeats cost none."""
        self._serial += 1
        heapq.heappush(self._sessions, (at_ms, self._serial, group, member))

    def end_sessions(self, now_ms: int) -> None:
        """Members that were not heard are none any more."""
        while self._sessions and self._sessions[0][0] <= now_ms:
            _, _, group, member = heapq.heappop(self._sessions)
            if self._groups.get(group.group_id) is not group or group.members.get(member.name) is not member:
                continue
            if member.waiting:
                self._watch_until(now_ms + member.session_timeout_ms, group, member)
            elif member.deadline_ms > now_ms:
                self._watch_until(member.deadline_ms, group, member)
            else:
                gone = MemberGone(group.group_id, group.epoch + 1, member.name, has_left=member.stepped_out)
                self._change(gone, now_ms)

    def next_deadline(self) -> int | None:
        """The first entry; it may have moved on."""
        return min((heap[0][0] for heap in (self._ends, self._sessions) if heap), default=None)

    def check_invariants(self) -> None:
        """Raises AssertionError."""
        waiting = {
            token: member
            for group in self._groups.values()
            for member in group.members.values()
            for token in member.waiting
        }
        assert waiting == {token: each.member for token, each in self._waiting.items()}, "a heartbeat waits for nobody"
        assert not self._asking, "somebody asked and was not answered"
        watched = [
            (group.group_id, member.name)
            for _, _, group, member in self._sessions
            if self._groups.get(group.group_id) is group and group.members.get(member.name) is member
        ]
        members = [(group.group_id, name) for group in self._groups.values() for name in group.members]
        assert sorted(watched) == sorted(members), "a member that may never go, or that goes twice"

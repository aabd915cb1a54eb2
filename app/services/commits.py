"""Commits of readers that keep their own positions."""

from dataclasses import dataclass

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.commits import CommitFields, CommittedItem, CommitView, PositionFields
from app.calls.problem_item import problem_item
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.gateway.metrics import Metrics
from app.gateway.routing import PartitionLeaders, Try
from app.services.catalog import Catalog
from app.services.fan_out import ask_each
from app.services.leader_epochs import check_epoch_has_been
from app.services.membership import GroupMembership
from app.services.node_lag import answer_of_node
from cluster.catalog.known_by_all import KnownByAll
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.needed_protocol import PROTOCOL_OF_COMMITS
from cluster.model.values import Group, GroupMode, Topic
from storage.rpc.membership_messages import Ownership
from storage.rpc.messages import CommitRequest, CommitResponse
from storage.rpc.node_api import NodeApi

NOT_SAID = -1
_OF_A_POSITION = frozenset({"offset", "expected", "leaderEpoch"})


@dataclass(frozen=True, slots=True)
class _Commit:
    topic: Topic
    fields: PositionFields


class CommitService:
    """A commit is an acknowledgement of everything below an offset, and needs the same right."""

    def __init__(
        self,
        gateway: Gateway,
        catalog: Catalog,
        leaders: PartitionLeaders,
        membership: GroupMembership,
        metrics: Metrics,
    ) -> None:
        self._gateway = gateway
        self._catalog = catalog
        self._leaders = leaders
        self._membership = membership
        self._metrics = metrics
        self._known_by_all = KnownByAll(gateway.metadata, timeout_ms=gateway.settings.request_timeout_ms)

    async def commit(self, name: str, fields: CommitFields, principal: Principal) -> CommitView:
        """A result per position, in order. Raises ServerError where all fail alike, and where the request itself is at
        fault; nothing is done then."""
        principal.require_on_group(Action.SETTLE, name)
        for index, each in enumerate(fields.offsets):
            check_same_namespace(name, each.topic, field=f"offsets[{index}].topic")
        commits = [await self._checked(index, each, principal) for index, each in enumerate(fields.offsets)]
        _refuse_twice(commits)
        group = await self._catalog.group(name)
        self._known_by_all.check(PROTOCOL_OF_COMMITS, "commits of positions")
        owned = await self._owned(group, fields)
        deadline_ms = self._leaders.deadline_in(self._gateway.settings.request_timeout_ms)

        async def commit_one(commit: _Commit) -> CommitResponse:
            return await self._commit(group, commit, fields.member or "", owned, deadline_ms)

        items: list[CommittedItem] = []
        faults: list[ServerError] = []
        for index, (commit, answer) in enumerate(zip(commits, await ask_each(commits, commit_one), strict=True)):
            item = CommittedItem(commit.topic.name, commit.fields.partition)
            if isinstance(answer, ServerError):
                if answer.field in _OF_A_POSITION:
                    answer.field = f"offsets[{index}].{answer.field}"
                faults.append(answer)
                item.problem = problem_item(answer)
            else:
                item.progress, item.previous = answer.progress, answer.previous
                self._metrics.count_consumer_call("commit", commit.topic.name, group.name)
            items.append(item)
        if len(faults) == len(commits) and len({fault.code for fault in faults}) == 1:
            raise faults[0]
        return CommitView(group.name, items, len(faults))

    async def _checked(self, index: int, fields: PositionFields, principal: Principal) -> _Commit:
        place = f"offsets[{index}]"
        topic = await self._catalog.topic(fields.topic, principal, Action.SETTLE, field=f"{place}.topic")
        topic = await self._catalog.grown(topic, fields.partition)
        self._catalog.check_partition(topic, fields.partition, field=f"{place}.partition")
        return _Commit(topic, fields)

    async def _owned(self, group: Group, fields: CommitFields) -> dict[tuple[str, int], Ownership]:
        """What the member of an exclusive group owns. Raises ServerError MISSING_FIELD, INVALID_FIELD,
        WRONG_GROUP_MODE, MEMBER_UNKNOWN, MEMBER_FENCED (it is of an earlier life)."""
        if group.mode is not GroupMode.EXCLUSIVE:
            detail = f"the group is {group.mode.value!r}, and has no members"
            if fields.member is not None:
                raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail, field="member")
            if fields.member_epoch is not None:
                raise ServerError(ProblemCode.INVALID_FIELD, f"it is of no member, and {detail}", field="memberEpoch")
            return {}
        if fields.member is None or fields.member_epoch is None:
            field = "member" if fields.member is None else "memberEpoch"
            raise ServerError(
                ProblemCode.MISSING_FIELD, "a partition of an exclusive group is its member's", field=field
            )
        known = (await self._membership.members(group)).members
        member = next((each for each in known if each.member == fields.member), None)
        if member is None:
            raise ServerError(ProblemCode.MEMBER_UNKNOWN, f"there is no member {fields.member!r}", field="member")
        if not member.joined_epoch <= fields.member_epoch <= member.member_epoch:
            detail = f"its epochs are {member.joined_epoch} to {member.member_epoch}: this is another process's"
            raise ServerError(ProblemCode.MEMBER_FENCED, detail, field="memberEpoch")
        return {(each.topic_id, each.partition): each for each in member.assigned}

    async def _commit(
        self,
        group: Group,
        commit: _Commit,
        member: str,
        owned: dict[tuple[str, int], Ownership],
        deadline_ms: int,
    ) -> CommitResponse:
        """A commit that goes forward may be repeated: it says where the group is at least. One that goes by what it
        finds may not."""
        fields, topic_id, partition = commit.fields, commit.topic.id, commit.fields.partition
        request = CommitRequest(
            topic_id,
            partition,
            group.id,
            fields.offset,
            NOT_SAID if fields.leader_epoch is None else fields.leader_epoch,
            fields.metadata,
            NOT_SAID if fields.expected is None else fields.expected,
        )
        if group.mode is GroupMode.EXCLUSIVE:
            ownership = owned.get((topic_id, partition))
            if ownership is None:
                raise ServerError(ProblemCode.MEMBER_FENCED, "the partition is not the member's", field="member")
            request.member, request.ownership = member, ownership.ownership
            request.is_forced = ownership.is_forced
            request.gone_since, request.left_since = ownership.gone_since, ownership.left_since

        async def ask(node: NodeApi, _attempt: Try | int) -> CommitResponse:
            try:
                return await answer_of_node(node.commit(request), self._gateway.metadata, group_id=group.id)
            except ServerError as error:
                if error.code is ProblemCode.UNAVAILABLE and error.field == "leaderEpoch":
                    await check_epoch_has_been(
                        self._catalog, topic_id, partition, request.leader_epoch, field="leaderEpoch"
                    )
                raise

        if fields.expected is None:
            return await self._leaders.change(topic_id, partition, ask, deadline_ms=deadline_ms)
        return await self._leaders.change_once(topic_id, partition, ask, deadline_ms=deadline_ms)


def _refuse_twice(commits: list[_Commit]) -> None:
    """Raises ServerError INVALID_FIELD."""
    seen: set[tuple[str, int]] = set()
    for index, commit in enumerate(commits):
        place = (commit.topic.id, commit.fields.partition)
        if place in seen:
            raise ServerError(ProblemCode.INVALID_FIELD, "the partition is named twice", field=f"offsets[{index}]")
        seen.add(place)

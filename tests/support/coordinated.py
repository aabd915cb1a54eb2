"""A coordinator of exclusive groups with a world that a test decides, and a log in memory."""

from collections.abc import Collection, Mapping
from itertools import count

from cluster.errors import ServerError
from cluster.model.values import Assignor
from storage.groups.assignors.task import Place
from storage.groups.coordinator import Coordinator
from storage.groups.coordinator_settings import CoordinatorSettings
from storage.groups.events import Beat, BeatGivenUp, CoordinatorEvent, GroupDeleted, TermsChanged, TopicsChanged
from storage.groups.records import GroupRecord
from storage.groups.surroundings import ExclusiveTerms, TopicShape, TopicTable
from storage.rpc.membership_messages import LEAVE, HeartbeatRequest, HeartbeatResponse

GROUP = "group"
SESSION_MS = 10_000


class Coordinated:
    """`log` has every record; `answers` what each heartbeat was told, by its token. Topics' ids are their names."""

    def __init__(self, settings: CoordinatorSettings | None = None, *, assignor: Assignor = Assignor.STICKY) -> None:
        self.settings = settings or CoordinatorSettings()
        self.now_ms = 1_000
        self.log: list[GroupRecord] = []
        self.answers: dict[int, HeartbeatResponse | ServerError] = {}
        self.assignor = assignor
        self.gone_groups: set[str] = set()
        self.racks: dict[Place, list[str]] = {}
        self.lag: dict[Place, int] = {}
        self._topics = TopicTable([])
        self._tokens = count(1)
        self.coordinator = Coordinator(self.settings)

    # --- GroupSurroundings -----------------------------------------------------------------------------------------

    @property
    def topics(self) -> TopicTable:
        return self._topics

    def terms(self, group_id: str) -> ExclusiveTerms | None:
        return (
            None if group_id in self.gone_groups else ExclusiveTerms(self.assignor, SESSION_MS, (f"*.{group_id}.dlq",))
        )

    def racks_of(self, place: Place) -> Collection[str]:
        return self.racks.get(place, [])

    def lags(self, _group_id: str, _places: Collection[Place]) -> Mapping[Place, int]:
        return self.lag

    # --- what happens ----------------------------------------------------------------------------------------------

    def decide(self, *events: CoordinatorEvent) -> None:
        decision = self.coordinator.decide(events, self, self.now_ms)
        self.log += decision.records
        self.answers.update(decision.answers)
        self.coordinator.check_invariants()

    def set_topics(self, **partitions: int) -> None:
        before = self._topics
        self._topics = TopicTable(TopicShape(name, name, tuple(range(number))) for name, number in partitions.items())
        self.decide(TopicsChanged(self._topics.changed_since(before)))

    def set_assignor(self, assignor: Assignor) -> None:
        self.assignor = assignor
        self.decide(TermsChanged([GROUP]))

    def pass_time(self, duration_ms: int) -> None:
        self.now_ms += duration_ms
        self.decide()

    def delete(self, group_id: str = GROUP) -> None:
        self.gone_groups.add(group_id)
        self.decide(GroupDeleted(group_id))

    def beat(self, member: str, member_epoch: int = 0, *, group: str = GROUP, **fields: object) -> int:
        """The heartbeat's token."""
        token = next(self._tokens)
        topics = fields.pop("topics", ["a"])
        request = HeartbeatRequest(0, group, member, member_epoch, topics, **fields)  # type: ignore[arg-type]
        self.decide(Beat(token, request))
        return token

    def give_up(self, token: int) -> None:
        self.decide(BeatGivenUp(token))

    def hear(self, member: str, member_epoch: int = 0, **fields: object) -> HeartbeatResponse:
        """The answer to a heartbeat that does not wait."""
        answer = self.answers[self.beat(member, member_epoch, **fields)]
        assert isinstance(answer, HeartbeatResponse), answer
        return answer

    def refusal(self, member: str, member_epoch: int = 0, **fields: object) -> str:
        """Why a heartbeat is refused; the state is as it was."""
        before = list(self.log)
        answer = self.answers[self.beat(member, member_epoch, **fields)]
        assert isinstance(answer, ServerError), answer
        assert self.log == before
        return answer.code.name

    def leave(self, member: str) -> None:
        self.hear(member, LEAVE)

    # --- seeing ----------------------------------------------------------------------------------------------------

    def owners(self, group: str = GROUP) -> dict[tuple[str, int], str]:
        return {tuple(place): owner.member for place, owner in self.coordinator.groups[group].owners.items()}  # type: ignore[misc]

    def counts(self, group: str = GROUP) -> dict[str, int]:
        return {name: len(member.places) for name, member in self.coordinator.groups[group].members.items()}

    def replayed(self, log: list[GroupRecord] | None = None) -> Coordinator:
        """What another one makes of the log."""
        other = Coordinator(self.settings)
        for record in self.log if log is None else log:
            other.restore(record, self.now_ms)
        other.restored()
        other.check_invariants()
        return other

    def replace(self) -> None:
        """The coordinator by another one that read the log."""
        self.coordinator = self.replayed()

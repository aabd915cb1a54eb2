"""What happens to a coordinator, and what it decides."""

from collections.abc import Collection
from dataclasses import dataclass, field

from cluster.errors import ServerError
from storage.groups.records import GroupRecord
from storage.rpc.membership_messages import HeartbeatRequest, HeartbeatResponse


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat. `token` names it until it is answered; each is used once."""

    token: int
    request: HeartbeatRequest


@dataclass(frozen=True, slots=True)
class BeatGivenUp:
    """Nobody waits for the answer any more."""

    token: int


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """The names of topics that came, went or have other partitions, by id."""

    topics: dict[str, str]


@dataclass(frozen=True, slots=True)
class TermsChanged:
    """These groups may be set to something else."""

    group_ids: Collection[str]


@dataclass(frozen=True, slots=True)
class GroupDeleted:
    group_id: str


CoordinatorEvent = Beat | BeatGivenUp | TopicsChanged | TermsChanged | GroupDeleted


@dataclass(slots=True)
class GroupDecision:
    """`records` are to be durable before the `answers` are given, and before those of any later decision."""

    records: list[GroupRecord] = field(default_factory=list)
    answers: list[tuple[int, HeartbeatResponse | ServerError]] = field(default_factory=list)

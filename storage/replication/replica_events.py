"""What a replica is told, and what it asks for, through all of its roles."""

from dataclasses import dataclass
from enum import Enum

from storage.replication.follower_events import FollowerEffect, FollowerEvent
from storage.replication.leader_events import LeaderEffect, LeaderEvent


class Role(Enum):
    NONE = "none"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class LogsAtRest:
    """Nothing is on its way into the logs any more. `serial` is the one of ComeToRest."""

    serial: int


@dataclass(frozen=True, slots=True)
class LogDamaged:
    """Something of the log that was durable cannot be read."""

    log: int


@dataclass(frozen=True, slots=True)
class ComeToRest:
    """Begin nothing more on the logs, wait for what is under way, forget fetches; then answer with LogsAtRest."""

    serial: int


@dataclass(frozen=True, slots=True)
class RoleTaken:
    role: Role
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class GiveUpPlace:
    """Take this replica out of the ISR, if at least `isr_floor` other members live, and its leadership from it, if any
    other does, in a transaction that takes the next leader epoch. What came of it the assignments tell; until then it
    is asked for again."""

    isr_floor: int


ReplicaEvent = LeaderEvent | FollowerEvent | LogsAtRest | LogDamaged
ReplicaEffect = LeaderEffect | FollowerEffect | ComeToRest | RoleTaken | GiveUpPlace

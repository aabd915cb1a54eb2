"""Who makes a request, and what they may do."""

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from acklog.wire.problems import ProblemCode
from cluster.errors import AcklogError

EVERY_TOPIC = ("*",)


class Scope(Enum):
    READ = "read"  # receive, settle, look at messages and records
    WRITE = "write"  # send
    ADMIN = "admin"  # topics, groups, offsets, where replicas are


@dataclass(frozen=True, slots=True)
class Principal:
    """`topics` holds shell patterns (`orders.*`) of the topic names that the token is for."""

    name: str
    scopes: frozenset[Scope]
    topics: tuple[str, ...]

    def may_see(self, topic: str) -> bool:
        return self.topics == EVERY_TOPIC or any(fnmatchcase(topic, pattern) for pattern in self.topics)

    def require(self, scope: Scope) -> None:
        """Raises AcklogError FORBIDDEN."""
        if scope not in self.scopes:
            raise AcklogError(ProblemCode.FORBIDDEN, f"the token has no scope {scope.value!r}")

    def require_every_topic(self) -> None:
        """For what concerns the whole cluster. Raises AcklogError FORBIDDEN."""
        if self.topics != EVERY_TOPIC:
            detail = "this concerns every topic, and the token is for some"
            raise AcklogError(ProblemCode.FORBIDDEN, detail)

    def require_topic(self, topic: str) -> None:
        """Raises AcklogError FORBIDDEN."""
        if not self.may_see(topic):
            raise AcklogError(ProblemCode.FORBIDDEN, f"the token is not for topic {topic[:249]!r}")


ANYONE = Principal("anyone", frozenset(Scope), EVERY_TOPIC)

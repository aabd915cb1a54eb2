"""Who makes a request, and what they may do."""

from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

EVERY_TOPIC = ("*",)
EVERY_GROUP = ("*",)


class Scope(Enum):
    READ = "read"  # receive, settle, look at messages and records
    WRITE = "write"  # send
    ADMIN = "admin"  # topics, groups, offsets, where replicas are
    PURGE = "purge"  # delete a topic's messages, and not the topic

    __hash__ = object.__hash__  # each member is there once; Enum's own is a Python call, in every request


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenQuotas:
    """What may be done with tokens of one name per second, over all gateways; None: any amount. Requests are sends,
    receives and reads of records; messages and bytes those that are sent, delivered or read."""

    requests_per_second: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """`topics` and `groups` hold shell patterns (`orders.*`) of the names that the token is for.

    `groups` None, as in files that know nothing of groups: a token for every topic is for every group. One for some
    topics may read them with any group, and neither sees nor changes groups.
    """

    name: str
    scopes: frozenset[Scope]
    topics: tuple[str, ...]
    groups: tuple[str, ...] | None = None
    quotas: TokenQuotas | None = None

    def may_see(self, topic: str) -> bool:
        return self.topics == EVERY_TOPIC or any(fnmatchcase(topic, pattern) for pattern in self.topics)

    @property
    def is_for_every_topic(self) -> bool:
        return self.topics == EVERY_TOPIC

    @property
    def may_use_any_group(self) -> bool:
        return self.groups is None or self.groups == EVERY_GROUP

    def may_use_group(self, group: str) -> bool:
        """To read its topics with, and to see in what it has done in them."""
        return self.may_use_any_group or any(fnmatchcase(group, pattern) for pattern in self.groups or ())

    def may_see_group(self, group: str) -> bool:
        """The group itself, with its settings."""
        return self.is_for_every_topic if self.groups is None else self.may_use_group(group)

    def require(self, scope: Scope) -> None:
        """Raises ServerError FORBIDDEN."""
        if scope not in self.scopes:
            raise ServerError(ProblemCode.FORBIDDEN, f"the token has no scope {scope.value!r}")

    def require_every_topic(self) -> None:
        """For what concerns the whole cluster. Raises ServerError FORBIDDEN."""
        if self.topics != EVERY_TOPIC:
            detail = "this concerns every topic, and the token is for some"
            raise ServerError(ProblemCode.FORBIDDEN, detail)

    def require_everything(self) -> None:
        """For what names topics and groups of all. Raises ServerError FORBIDDEN."""
        if not self.is_for_every_topic or not self.may_use_any_group:
            detail = "this concerns every topic and group, and the token is for some"
            raise ServerError(ProblemCode.FORBIDDEN, detail)

    def require_use_of_group(self, group: str) -> None:
        """Raises ServerError FORBIDDEN."""
        if not self.may_use_group(group):
            raise ServerError(ProblemCode.FORBIDDEN, f"the token is not for group {group[:249]!r}")

    def require_group(self, group: str) -> None:
        """To see the group itself, or to change it. Raises ServerError FORBIDDEN."""
        if not self.may_see_group(group):
            hint = "; a token for some topics needs 'groups'" if self.groups is None else ""
            raise ServerError(ProblemCode.FORBIDDEN, f"the token is not for group {group[:249]!r}{hint}")

    def require_topic(self, topic: str) -> None:
        """Raises ServerError FORBIDDEN."""
        if not self.may_see(topic):
            raise ServerError(ProblemCode.FORBIDDEN, f"the token is not for topic {topic[:249]!r}")


ANYONE = Principal("anyone", frozenset(Scope), EVERY_TOPIC, EVERY_GROUP)

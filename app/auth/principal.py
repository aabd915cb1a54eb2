"""Who makes a request, and what they may do."""

from dataclasses import dataclass
from enum import Enum

from acklog.wire.problems import ProblemCode
from app.auth.right import EVERY, Effect, Right
from app.auth.rights import NamedRights, Rights, rights_of
from cluster.errors import ServerError
from cluster.model.action import Action

_SHOWN_MAX = 249
CLUSTER = "the cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenQuotas:
    """What may be done with tokens of one name per second, over all gateways; None: any amount. Requests are sends,
    receives and reads of records; messages and bytes those that are sent, delivered or read."""

    requests_per_second: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None


class PrincipalKind(Enum):
    """Where it is known from."""

    ANYONE = "anyone"  # nobody is asked for a token
    FILE = "file"
    STORED = "stored"
    JWT = "jwt"  # an issuer has signed who it is
    CERTIFICATE = "certificate"


@dataclass(frozen=True, slots=True)
class Principal:
    """`require_*` raise ServerError FORBIDDEN. What is refused is refused by the name alone, before anybody looks
    whether there is such a thing: an answer says nothing of what the token may not know.

    `expires_at_ms` None: never. `token_id` is that of a stored token, and no secret.
    """

    name: str
    rights: Rights
    quotas: TokenQuotas | None = None
    expires_at_ms: int | None = None
    kind: PrincipalKind = PrincipalKind.FILE
    token_id: str = ""

    # --- what is left out of what is shown ---------------------------------------------------------------------------

    def may_on_topic(self, action: Action, topic: str) -> bool:
        return self.rights.topics.of(topic) & action.bit != 0

    def may_on_group(self, action: Action, group: str) -> bool:
        return self.rights.groups.of(group) & action.bit != 0

    def may_on_cluster(self, action: Action) -> bool:
        return self.rights.cluster & action.bit != 0

    def knows_topic(self, topic: str) -> bool:
        """Who may do anything with it may be told that it is there."""
        return self.rights.topics.of(topic) != 0

    def knows_group(self, group: str) -> bool:
        return self.rights.groups.of(group) != 0

    def knows_every_topic(self) -> bool:
        return self.rights.topics.everywhere != 0

    def may_on_every_topic(self, action: Action) -> bool:
        return self.rights.topics.everywhere & action.bit != 0

    def may_on_every_group(self, action: Action) -> bool:
        return self.rights.groups.everywhere & action.bit != 0

    def knows_namespace(self, namespace: str) -> bool:
        """Who may do anything in it, or sees to the cluster, may be told that it is there."""
        rights = self.rights
        in_it = rights.topics.in_namespace(namespace) | rights.groups.in_namespace(namespace)
        return in_it != 0 or rights.cluster & Action.MANAGE.bit != 0

    def may_somewhere(self, action: Action) -> bool:
        return self.rights.somewhere & action.bit != 0

    # --- what is refused ---------------------------------------------------------------------------------------------

    def require_somewhere(self, action: Action) -> None:
        """For what names no resource yet: nothing is read for who may not do this with anything."""
        if not self.rights.somewhere & action.bit:
            self._refuse(action, "anything")

    def require_before_body(self, action: Action) -> None:
        """As `require_somewhere`, where the body names what it is about and that is asked for once it is there."""
        self.require_somewhere(action)

    def require_on_topic(self, action: Action, topic: str) -> None:
        if not self.rights.topics.of(topic) & action.bit:
            self._refuse(action, f"topic {topic[:_SHOWN_MAX]!r}")

    def require_on_group(self, action: Action, group: str) -> None:
        if not self.rights.groups.of(group) & action.bit:
            self._refuse(action, f"group {group[:_SHOWN_MAX]!r}")

    def require_progress_of(self, group: str) -> None:
        """Who receives for a group may see how far it is."""
        if not self.rights.groups.of(group) & (Action.LOOK.bit | Action.RECEIVE.bit):
            self._refuse(Action.LOOK, f"group {group[:_SHOWN_MAX]!r}")

    def require_on_cluster(self, action: Action) -> None:
        if not self.rights.cluster & action.bit:
            self._refuse(action, CLUSTER)

    def require_namespace(self, namespace: str) -> None:
        """For a look at it."""
        if not Principal.knows_namespace(self, namespace):
            self._refuse(Action.LOOK, f"namespace {namespace[:_SHOWN_MAX]!r}")

    def require_everything(self, action: Action) -> None:
        """For what names topics and groups of all."""
        self.require_on_cluster(action)
        rights = self.rights
        if not rights.topics.everywhere & rights.groups.everywhere & action.bit:
            self._refuse(action, "every topic and group")

    def refuses_topic(self, action: Action, topic: str) -> bool:
        """As `require_on_topic`, for who says it otherwise: where only an id was given, the name is not for telling."""
        return self.rights.topics.of(topic) & action.bit == 0

    def refuses_group(self, action: Action, group: str) -> bool:
        return self.rights.groups.of(group) & action.bit == 0

    def refuses_every_topic(self, action: Action) -> bool:
        """As `may_on_every_topic` says, where that is needed and missed is a refusal."""
        return not self.may_on_every_topic(action)

    def topic_patterns(self, action: Action) -> tuple[str, ...] | None:
        """The topics that the token may do this with, as patterns to be kept; None: every one. Raises ServerError
        FORBIDDEN where some of that is denied, which patterns do not say."""
        return _patterns(self.rights.topics, action, "topics")

    def group_patterns(self, action: Action) -> tuple[str, ...] | None:
        """As `topic_patterns`."""
        return _patterns(self.rights.groups, action, "groups")

    def strict(self) -> "Principal":
        """For what is refused in any case, also while rights are on trial."""
        return self

    def _refuse(self, action: Action, resource: str) -> None:
        raise ServerError(ProblemCode.FORBIDDEN, f"the token has no right to {action.value} on {resource}")


def _patterns(rights: NamedRights, action: Action, kind: str) -> tuple[str, ...] | None:
    """Raises ServerError FORBIDDEN."""
    if rights.everywhere & action.bit:
        return None
    found = rights.patterns_of(action.bit)
    if found is None:
        detail = f"the token's rights deny {action.value!r} on some {kind}, and what is kept of them says only which"
        raise ServerError(ProblemCode.FORBIDDEN, detail)
    return found


_EVERYTHING = Right(
    effect=Effect.ALLOW, actions=tuple(Action), topics=EVERY, groups=EVERY, is_for_cluster=True, source="no tokens"
)
ANYONE = Principal("anyone", rights_of([_EVERYTHING]), kind=PrincipalKind.ANYONE)

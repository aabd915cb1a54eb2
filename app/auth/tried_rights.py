"""Rights on trial: what they would refuse is let through, counted and told in the log.

Who asks is found out as ever; a token that is not known is refused. So is who has no right to the audit log: what is
in it was never open to anybody else.
"""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from app.auth.principal import Principal
from cluster.model.action import Action

TOLD_MAX = 1_000
"""Refusals that the log is told of, each once: so many different ones, of whatever tokens. All are counted."""

_NOT_TRIED = frozenset({Action.AUDIT})

_log = structlog.get_logger(__name__)

Tell = Callable[[str, Action, str], None]
"""Told a token's name, the action, and on what it was."""


@dataclass(frozen=True, slots=True)
class TriedPrincipal(Principal):
    """It may see everything: what listings would leave out is nobody's refusal, and is not told."""

    tell: Tell = lambda _name, _action, _resource: None

    def may_on_topic(self, action: Action, topic: str) -> bool:
        return True

    def may_on_group(self, action: Action, group: str) -> bool:
        return True

    def may_on_cluster(self, action: Action) -> bool:
        return action not in _NOT_TRIED or Principal.may_on_cluster(self, action)

    def knows_topic(self, topic: str) -> bool:
        return True

    def knows_group(self, group: str) -> bool:
        return True

    def knows_every_topic(self) -> bool:
        return True

    def may_on_every_topic(self, action: Action) -> bool:
        return True

    def may_on_every_group(self, action: Action) -> bool:
        return True

    def knows_namespace(self, namespace: str) -> bool:
        return True

    def may_somewhere(self, action: Action) -> bool:
        return action not in _NOT_TRIED or Principal.may_somewhere(self, action)

    def require_before_body(self, action: Action) -> None:
        """Let through: what is missing is counted once, of what the body names."""

    def refuses_topic(self, action: Action, topic: str) -> bool:
        if Principal.refuses_topic(self, action, topic):
            self._refuse(action, "a topic named by an id")
        return False

    def refuses_group(self, action: Action, group: str) -> bool:
        if Principal.refuses_group(self, action, group):
            self._refuse(action, "a group named by an id")
        return False

    def refuses_every_topic(self, action: Action) -> bool:
        if Principal.refuses_every_topic(self.strict(), action):
            self._refuse(action, "every topic")
        return False

    def topic_patterns(self, action: Action) -> tuple[str, ...] | None:
        return None

    def group_patterns(self, action: Action) -> tuple[str, ...] | None:
        return None

    def strict(self) -> Principal:
        return Principal(self.name, self.rights, self.quotas, self.expires_at_ms, self.kind, self.token_id)

    def _refuse(self, action: Action, resource: str) -> None:
        if action in _NOT_TRIED:
            Principal._refuse(self, action, resource)
        self.tell(self.name, action, resource)


class RightsOnTrial:
    """`count` is told of every refusal that there would have been."""

    def __init__(self, count: Callable[[str], None]) -> None:
        self._count = count
        self._told: dict[tuple[str, Action, str], None] = {}

    def of(self, principal: Principal) -> Principal:
        return TriedPrincipal(
            principal.name,
            principal.rights,
            principal.quotas,
            principal.expires_at_ms,
            principal.kind,
            principal.token_id,
            tell=self._tell,
        )

    def _tell(self, name: str, action: Action, resource: str) -> None:
        self._count(action.value)
        refusal = (name, action, resource)
        if refusal in self._told or len(self._told) >= TOLD_MAX:
            return
        self._told[refusal] = None
        _log.warning("right_would_be_refused", token=name, action=action.value, on=resource)
        if len(self._told) == TOLD_MAX:
            _log.warning("further_refusals_are_only_counted", told=TOLD_MAX)

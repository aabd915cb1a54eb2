"""Who is told what. Watchers who may see the same, and ask for the same, are one audience: they get the same bytes."""

from dataclasses import dataclass

from app.auth.principal import Principal
from app.auth.right import Right
from app.events.thing import ThingKey, ThingKind
from cluster.model.action import Action

AudienceKey = tuple[tuple[Right, ...], frozenset[ThingKind], frozenset[str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class Audience:
    """`topics` and `groups` empty: all. Rights are those that the calls need which answer the same."""

    principal: Principal
    kinds: frozenset[ThingKind] = frozenset(ThingKind)
    topics: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @property
    def key(self) -> AudienceKey:
        return self.principal.rights.rights, self.kinds, self.topics, self.groups

    def sees(self, thing: ThingKey) -> bool:
        if thing.kind not in self.kinds:
            return False
        if thing.kind is ThingKind.TOTALS:
            return self._sees_totals()
        if thing.kind is ThingKind.NODES:
            return self.principal.may_on_cluster(Action.LOOK)
        if self.topics and thing.topic not in self.topics:
            return False
        if not self.principal.may_on_topic(Action.LOOK, thing.topic):
            return False
        return thing.kind is not ThingKind.GROUPS or self._sees_group(thing.group)

    def _sees_totals(self) -> bool:
        principal = self.principal
        return (
            principal.may_on_cluster(Action.LOOK)
            and principal.may_on_every_topic(Action.LOOK)
            and principal.may_on_every_group(Action.LOOK)
        )

    def _sees_group(self, group: str) -> bool:
        """Who receives for a group may see how far it is."""
        if self.groups and group not in self.groups:
            return False
        return self.principal.may_on_group(Action.LOOK, group) or self.principal.may_on_group(Action.RECEIVE, group)

"""What a token's rights come to. Nothing is allowed that no right allows, and what a right denies no other allows.

The decisions are pure, and cheap enough for every send: what may be done to a resource is one number, found once and
remembered for the names that were asked for last.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from acklog.wire.limits import NAME_LENGTH_MAX
from app.auth.name_patterns import BitsOfPattern, NamePatterns
from app.auth.right import EVERY, Effect, Right
from cluster.model.action import bits_of
from cluster.model.sqs_queue import queue_of_group

NAMES_KNOWN_MAX = 64
"""Names that one token's rights remember of a kind. One more, and all are decided anew as they come."""

PatternsOf = Callable[[Right], tuple[str, ...]]


class NamedRights:
    """Of topics, or of groups: bits of actions by name."""

    __slots__ = ("_allowed", "_denied", "_known", "_topics", "everywhere", "somewhere")

    def __init__(self, rights: Iterable[Right], patterns_of: PatternsOf, topics: "NamedRights | None" = None) -> None:
        """Groups have the rights on `topics` beside them: what may be done to the topic of a queue of SQS may be done
        to its group, unless it is denied there."""
        given = [(each.effect, patterns_of(each), bits_of(each.actions)) for each in rights]
        self._allowed = _patterns(given, Effect.ALLOW)
        self._denied = _patterns(given, Effect.DENY)
        self._known: dict[str, int] = {}
        self._topics = topics
        everywhere = 0
        for effect, patterns, bits in given:
            if effect is Effect.ALLOW and patterns == EVERY:
                everywhere |= bits
        self.everywhere = everywhere & ~self._denied.all_bits
        """What is allowed whatever the name is."""
        allowed = self._allowed.all_bits | (0 if topics is None else topics.somewhere)
        self.somewhere: int = allowed & ~self._denied.bits_for_every_name()
        """What is allowed for some name, as far as that can be told without one."""

    def of(self, name: str) -> int:
        bits = self._known.get(name)
        if bits is None:
            bits = (self._allowed.bits_of(name) | self._of_queue(name)) & ~self._denied.bits_of(name)
            if len(name) <= NAME_LENGTH_MAX:  # whatever a client says: what cannot be a name is not kept
                if len(self._known) >= NAMES_KNOWN_MAX:
                    self._known.clear()
                self._known[name] = bits
        return bits

    def _of_queue(self, name: str) -> int:
        queue = None if self._topics is None else queue_of_group(name)
        return 0 if queue is None or self._topics is None else self._topics.of(queue)

    def in_namespace(self, namespace: str) -> int:
        """What is allowed for some name of the namespace, as far as that can be told without one."""
        return self._allowed.bits_in(namespace) & ~self._denied.bits_of_all_in(namespace)

    def denied_with(self, bit: int) -> tuple[str, ...]:
        """The patterns of what is denied of one action, each once."""
        return self._denied.with_bit(bit)

    def patterns_of(self, bit: int) -> tuple[str, ...] | None:
        """For what is allowed of one action, each once; None where patterns do not say it, as some of it is denied."""
        return None if self._denied.all_bits & bit else self._allowed.with_bit(bit)


def _patterns(given: list[tuple[Effect, tuple[str, ...], int]], wanted: Effect) -> NamePatterns:
    return NamePatterns(
        [BitsOfPattern(text, bits) for effect, patterns, bits in given if effect is wanted for text in patterns]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Rights:
    """Made by `rights_of`. `cluster` holds bits of actions."""

    rights: tuple[Right, ...]
    topics: NamedRights
    groups: NamedRights
    cluster: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rights) and self.rights == other.rights

    @property
    def somewhere(self) -> int:
        return self.topics.somewhere | self.groups.somewhere | self.cluster


def rights_of(rights: Iterable[Right]) -> Rights:
    """What they come to together, in whatever order they stand."""
    found = tuple(rights)
    allowed = denied = 0
    for each in found:
        if each.is_for_cluster and each.effect is Effect.ALLOW:
            allowed |= bits_of(each.actions)
        elif each.is_for_cluster:
            denied |= bits_of(each.actions)
    topics = NamedRights(found, lambda right: right.topics)
    return Rights(found, topics, NamedRights(found, lambda right: right.groups, topics), allowed & ~denied)

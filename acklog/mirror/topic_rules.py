"""Which topics are copied, and what they are called in the target. Without I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from acklog.errors import InvalidArgument
from acklog.wire.name_patterns import is_pattern_for
from acklog.wire.names import full_name_fault, in_namespace, local_name, namespace_of

STATE_TOPIC_PREFIX = "acklog-mirror."
"""Of the topics in which mirrors keep their state: no mirror copies them."""
PATTERNS_MAX = 100
RENAMES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class TopicRules:
    """`patterns` say what is copied, `excluded` what of it is not. A topic of `renames` has the name that stands there,
    every other one `prefix` before its name, behind the namespace."""

    patterns: Sequence[str]
    excluded: Sequence[str] = ()
    prefix: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Raises InvalidArgument for rules that can never be right."""
        for option, patterns in (("patterns", self.patterns), ("excluded", self.excluded)):
            if len(patterns) > PATTERNS_MAX:
                raise InvalidArgument(f"{len(patterns)} patterns, the limit is {PATTERNS_MAX}", field=option)
        if not self.patterns:
            raise InvalidArgument("no topic is named", field="patterns")
        if len(self.renames) > RENAMES_MAX:
            raise InvalidArgument(f"{len(self.renames)} renames, the limit is {RENAMES_MAX}", field="renames")
        if self.prefix and (fault := full_name_fault(f"{self.prefix}x")) is not None:
            raise InvalidArgument(f"the prefix {self.prefix!r} {fault}", field="prefix")
        by_target: dict[str, str] = {}
        for source, target in self.renames.items():
            for name in (source, target):
                if (fault := full_name_fault(name)) is not None:
                    raise InvalidArgument(f"{name!r} {fault}", field="renames")
            if target in by_target:
                detail = f"{by_target[target]} and {source} would both be {target}"
                raise InvalidArgument(detail, field="renames")
            by_target[target] = source

    def is_meant(self, topic: str) -> bool:
        """Whether the topic is to be copied. A mirror's state, and what is Acklog's own, never is."""
        local = local_name(topic)
        if local.startswith((STATE_TOPIC_PREFIX, "__")):
            return False
        is_named = any(is_pattern_for(pattern, topic) for pattern in self.patterns)
        return is_named and not any(is_pattern_for(pattern, topic) for pattern in self.excluded)

    def target_of(self, topic: str) -> str:
        """What the topic is called in the target."""
        if topic in self.renames:
            return self.renames[topic]
        return in_namespace(namespace_of(topic), f"{self.prefix}{local_name(topic)}")

    def pairs(self, topics: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
        """Source to target of all that are meant, and why some of them cannot be copied."""
        pairs: dict[str, str] = {}
        faults: dict[str, str] = {}
        taken: dict[str, str] = {}
        for topic in sorted(filter(self.is_meant, topics)):
            target = self.target_of(topic)
            if (fault := full_name_fault(target)) is not None:
                faults[topic] = f"it cannot be called {target} in the target: that {fault}"
            elif target in taken:
                faults[topic] = f"it would be {target} in the target, as {taken[target]} is"
            else:
                pairs[topic], taken[target] = target, topic
        return pairs, faults

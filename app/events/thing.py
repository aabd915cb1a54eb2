"""One thing that watchers are told of, as they are told it."""

from dataclasses import dataclass
from enum import Enum


class ThingKind(Enum):
    """In the order in which a page has them."""

    TOTALS = "totals"
    TOPICS = "topics"
    GROUPS = "groups"
    NODES = "nodes"
    PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class ThingKey:
    """`topic` and `group` are names, by which it is decided who may see it. `number` is that of a node or partition."""

    kind: ThingKind
    topic: str = ""
    group: str = ""
    number: int = 0

    def removed(self) -> object:
        """How it is named once it is gone."""
        named = {
            ThingKind.TOTALS: "totals",
            ThingKind.TOPICS: self.topic,
            ThingKind.GROUPS: [self.group, self.topic],
            ThingKind.NODES: self.number,
            ThingKind.PARTITIONS: [self.topic, self.number],
        }
        return named[self.kind]


@dataclass(frozen=True, slots=True)
class Thing:
    """`text` is JSON without line breaks; None: it is gone. `version` is that of the table since which it is so."""

    key: ThingKey
    text: bytes | None
    version: int

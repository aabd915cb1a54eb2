"""Topics that are encrypted at rest: by which keys."""

import msgspec
from msgspec import field


class TopicDataKey(msgspec.Struct, rename="camel"):
    """`master_key` is the id of the one that has wrapped it; empty where the token may not look on the cluster."""

    number: int
    master_key: str
    created_at_ms: int = field(name="createdAt")


class NodeKeys(msgspec.Struct, rename="camel"):
    """Ids of the master keys that a node has: what it wraps data keys by first, then the one before."""

    node: int
    master_keys: list[str]


class EncryptionState(msgspec.Struct, rename="camel"):
    """`encryption` is "on" or "off": whether what is stored of the topic now is encrypted, by the last data key. A
    rotation is done once there are `data_keys_wanted` of them. `nodes` is empty where the token may not look on the
    cluster."""

    topic: str
    encryption: str
    data_keys_wanted: int
    data_keys: list[TopicDataKey]
    nodes: list[NodeKeys]

    @property
    def is_rotated(self) -> bool:
        """Whether all data keys that were asked for are there."""
        return len(self.data_keys) >= self.data_keys_wanted

    @property
    def earlier_keys(self) -> list[TopicDataKey]:
        """Those that another master key has wrapped than the one that every node wraps by now; none where the nodes
        are not shown."""
        if not self.nodes:
            return []
        first = {node.master_keys[0] if node.master_keys else "" for node in self.nodes}
        return [key for key in self.data_keys if first != {key.master_key}]

    @property
    def lacking_nodes(self) -> list[int]:
        """Those that do not have the master key of some data key: such a node would not start again."""
        wanted = {key.master_key for key in self.data_keys}
        return [each.node for each in self.nodes if not wanted.issubset(each.master_keys)]

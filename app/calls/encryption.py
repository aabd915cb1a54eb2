"""How the encryption of a topic is shown: nothing of it is secret."""

import msgspec

from cluster.model.values import Encryption


class DataKeyView(msgspec.Struct, rename="camel"):
    """`master_key` is the id of the one that has wrapped it; empty for who may not look on the cluster."""

    number: int
    master_key: str
    created_at: int


class NodeMasterKeys(msgspec.Struct, rename="camel"):
    """The ids of those that a node has: what it wraps data keys by first, then the one before. Empty: none."""

    node: int
    master_keys: list[str]


class EncryptionView(msgspec.Struct, rename="camel"):
    """What is stored of the topic now is encrypted by the last of its data keys, if `encryption` is on. A rotation that
    was asked for is done once there are `data_keys_wanted` of them; a change of the master key once all are wrapped by
    the one that every node has first. `nodes` is empty for who may not look on the cluster."""

    topic: str
    encryption: Encryption
    data_keys_wanted: int
    data_keys: list[DataKeyView]
    nodes: list[NodeMasterKeys]

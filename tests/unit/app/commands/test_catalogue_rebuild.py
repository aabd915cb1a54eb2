"""What `acklog rebuild` keeps of namespaces."""

from app.commands.catalogue_rebuild import rebuild_catalogue
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.namespace import Namespace, NamespaceSettings
from cluster.model.values import Tombstone, Topic
from cluster.ports.coordination import KeyValue


def item(key: str, value: bytes, revision: int = 1) -> KeyValue:
    return KeyValue(key, value, revision, revision, 1)


def test_namespaces_come_back_but_those_that_were_deleted() -> None:
    shop = Namespace("s", "shop", 1, NamespaceSettings(topics_max=3))
    copy = [
        item(keys.namespace("shop"), encode(shop)),
        item(keys.namespace("gone"), encode(Namespace("g", "gone", 1))),
        item(keys.namespace("torn"), b"{"),
        item(keys.topic("shop/orders"), encode(Topic("t", "shop/orders", 1, 1, 1))),
    ]
    lost = [item(keys.tombstone("g"), encode(Tombstone("g", "gone", 2)), 2)]
    rebuilt = rebuild_catalogue([lost, copy], {("t", 0): 4}, reached=2, now_ms=9)
    assert [topic.name for topic in rebuilt.topics] == ["shop/orders"]
    assert rebuilt.unreadable == [keys.namespace("torn")]
    kept = {each.key: each for each in rebuilt.items.list(keys.NAMESPACES).items}
    assert list(kept) == [keys.namespace("shop")]
    assert decode(Namespace, kept[keys.namespace("shop")].value) == shop

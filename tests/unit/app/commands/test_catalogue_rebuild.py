"""What `acklog rebuild` keeps of namespaces, and makes of topics whose data keys are lost."""

from app.commands.catalogue_rebuild import rebuild_catalogue
from cluster.model import keys
from cluster.model.codec import decode, encode
from cluster.model.namespace import Namespace, NamespaceSettings
from cluster.model.values import Encryption, Tombstone, Topic
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
    rebuilt = rebuild_catalogue([lost, copy], {("t", 0): 4}, data_key_of=lambda _id: 0, reached=2, now_ms=9)
    assert [topic.name for topic in rebuilt.topics] == ["shop/orders"]
    assert rebuilt.unreadable == [keys.namespace("torn")]
    kept = {each.key: each for each in rebuilt.items.list(keys.NAMESPACES).items}
    assert list(kept) == [keys.namespace("shop")]
    assert decode(Namespace, kept[keys.namespace("shop")].value) == shop


def test_a_topic_that_was_encrypted_is_again_and_its_lost_keys_are_told() -> None:
    known = item(keys.topic("orders"), encode(Topic("t", "orders", 1, 1, 1)))
    places = {("t", 0): 1, ("lost", 0): 1, ("clear", 0): 1}
    rebuilt = rebuild_catalogue(
        [[known]], places, data_key_of=lambda topic_id: 4 if topic_id != "clear" else 0, reached=1, now_ms=9
    )
    found = {topic.id: (topic.config.encryption, topic.data_keys_wanted) for topic in rebuilt.topics}
    assert found == {"t": (Encryption.OFF, 0), "clear": (Encryption.OFF, 0), "lost": (Encryption.ON, 4)}
    assert rebuilt.without_keys == ["lost"]

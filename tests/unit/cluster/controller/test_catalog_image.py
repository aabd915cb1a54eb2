from cluster.controller.catalog_image import CatalogImage
from cluster.controller.planner import plan_entry
from cluster.metadata.membership import Membership
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.steering import PartitionOrder
from cluster.model.values import NodeRegistration, PartitionState, Tombstone, Topic
from cluster.ports.coordination import Changed, KeyValue, Removed

REVISION = 5


def item(key: str, value: bytes) -> KeyValue:
    return KeyValue(key, value, 1, 1, 1)


def topic(name: str, topic_id: str, partitions: int = 1) -> KeyValue:
    return item(keys.topic(name), encode(Topic(topic_id, name, partitions, 1, 0)))


def partition(topic_id: str, number: int) -> KeyValue:
    return item(keys.partition(topic_id, number), encode(PartitionState(topic_id, number, (1,), (1,), 1, 1, 1)))


def changed(catalog: CatalogImage) -> list[str]:
    return [entry.id for entry in catalog.take_changed()]


def test_what_changed_is_told_once() -> None:
    catalog = CatalogImage([topic("a", "t1"), partition("t1", 0), topic("b", "t2")])
    assert changed(catalog) == ["t1", "t2"]
    assert changed(catalog) == []
    catalog.apply(Changed(partition("t2", 0)))
    assert changed(catalog) == ["t2"]


def test_progress_of_the_living_is_no_change_of_the_dead_is() -> None:
    catalog = CatalogImage([topic("a", "t1")])
    catalog.apply(Changed(item(keys.offsets("g1", "t1"), b"")))
    assert changed(catalog) == ["t1"], "a change that waits is not forgotten"
    catalog.apply(Changed(item(keys.offsets("g1", "t1"), b"")))
    assert changed(catalog) == []
    catalog.apply(Changed(item(keys.tombstone("g1"), encode(Tombstone("g1", "g", 0)))))
    assert changed(catalog) == ["g1"]
    catalog.apply(Changed(item(keys.offsets("g1", "t2"), b"")))
    assert changed(catalog) == ["g1"]


def test_what_is_gone_leaves_nothing() -> None:
    items = [
        topic("a", "t1"),
        partition("t1", 0),
        item(keys.offsets("g1", "t1"), b""),
        item(keys.partition_order("t1", 0), encode(PartitionOrder("t1", 0, 0))),
        item(keys.partition_order("t8", 3), encode(PartitionOrder("t8", 3, 0))),
        item(keys.tombstone("t9"), encode(Tombstone("t9", "x", 0))),
    ]
    catalog = CatalogImage(items)
    for each in items:
        catalog.apply(Removed(each.key, REVISION))
    assert catalog.entries() == []
    assert changed(catalog) == []


def test_a_name_that_moves_to_another_id_leaves_the_old_one() -> None:
    catalog = CatalogImage([topic("a", "t1"), partition("t1", 0)])
    changed(catalog)
    catalog.apply(Changed(topic("a", "t2")))
    old, new = catalog.take_changed()
    assert (old.id, old.topic, new.id) == ("t1", None, "t2")
    assert new.topic is not None


def test_what_is_not_understood_is_left_alone() -> None:
    membership = Membership(sole=NodeRegistration(1, 2, "", ""))
    strange = item(keys.partition("t1", 0), b"{}")
    catalog = CatalogImage([topic("a", "t1"), strange, item(keys.topic("b"), b"?"), partition("t2", 0)])
    assert sorted(catalog.undecodable) == [strange.key, keys.topic("b")]
    assert [step for entry in catalog.take_changed() for step in plan_entry(entry, membership)] == []
    catalog.apply(Changed(partition("t1", 0)))
    assert list(catalog.undecodable) == [keys.topic("b")]
    [entry] = catalog.take_changed()
    assert len(plan_entry(entry, membership)) == 1

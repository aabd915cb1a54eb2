"""What `fsck` makes of the coordination file's entries."""

import pytest

from acklog.wire.record import Record
from cluster.model import keys
from cluster.model.codec import encode
from cluster.model.namespace import Namespace
from cluster.model.recurring_schedule import RecurrenceRule, RecurringSchedule
from cluster.model.redrives import RedriveJob, RedrivePart
from cluster.model.values import Group, NamedProducer, Topic
from cluster.ports.coordination import KeyValue
from storage.check.catalog_check import CatalogCheck
from storage.check.findings import FindingKind, Findings

OF_CLUSTERS = frozenset({keys.CONTROLLER, keys.DIRECTORIES})
"""What a server that has such a file keeps nothing under."""
PREFIXES = [
    prefix
    for name, prefix in vars(keys).items()
    if name.isupper() and prefix not in OF_CLUSTERS | {keys.ROOT} and not prefix.startswith(keys.STEERING)
]


def details(key: str, value: bytes) -> list[str]:
    findings = Findings()
    CatalogCheck("coordination.sqlite", findings=findings).read([KeyValue(key, value, 1, 1, 1)])
    assert findings.kinds <= {FindingKind.ENTRY_UNREADABLE}
    return [finding.detail for finding in findings.kept]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_kind_of_entry_is_known_and_one_that_cannot_be_read_is_told(prefix: str) -> None:
    [told] = details(f"{prefix}x/y", b"\xff")
    assert "nothing is known" not in told


def test_entries_of_a_server_are_sound() -> None:
    schedule = RecurringSchedule("i", "t", "hourly", 0, 0, 0, RecurrenceRule(every_ms=1_000), Record(b"1", ttl_ms=5))
    for key, value in (
        (keys.producer("t", "billing"), encode(NamedProducer("i", "t", "billing", 1, "me", 0, 0))),
        (keys.recurring("t", "hourly"), encode(schedule)),
        (keys.redrive("g", "j"), encode(RedriveJob("j", "g", "t", 0, ()))),
        (keys.redrive_part("j", 0), encode(RedrivePart(5))),
        (keys.redrive_topic("g", "t"), b"j"),
        (keys.namespace("shop"), encode(Namespace("i", "shop", 0))),
        (keys.topic("shop/orders"), encode(Topic("t", "shop/orders", 1, 1, 0))),
        (keys.group("shop/billing"), encode(Group("g", "shop/billing", 0))),
        (keys.incarnation(1), b"7"),
    ):
        assert details(key, value) == [], key


def test_what_nobody_knows_is_told() -> None:
    [told] = details("/acklog/new/thing", b"{}")
    assert "nothing is known under such a key" in told

"""docs/namespaces.md has the numbers and names that the code has."""

import re

import msgspec

from acklog.wire.limits import NAME_LENGTH_MAX, NAMESPACE_LENGTH_MAX
from acklog.wire.names import default_group_of
from acklog.wire.problems import ProblemCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.model.namespace import NamespaceSettings
from cluster.model.values import Group, Topic
from pyspark_acklog.export.directory import folder_of
from storage.node.groups.dead_letter_topics import dead_letter_topic_name
from tests.unit.docs.documents import read_document, section, table

PAGE = read_document("namespaces.md")


def test_names() -> None:
    said = " ".join(section(PAGE, "Names").split())
    assert f"at most {NAMESPACE_LENGTH_MAX} characters, the whole name {NAME_LENGTH_MAX}" in said


def test_what_stays_in_a_namespace() -> None:
    rows = dict(row[:2] for row in table(section(PAGE, "What is of one namespace stays in it")))
    assert f"`{default_group_of('shop/orders')}`" in rows["the group that a receive does not name"]
    letters = dead_letter_topic_name(Topic("t", "shop/orders", 1, 1, 0), Group("g", "shop/billing", 0))
    assert f"`{letters}`" in rows["dead letters of `shop/billing` from `shop/orders`"]
    assert f"`topic={folder_of('shop/orders')}`" in section(PAGE, "Metrics and exports")


def test_settings() -> None:
    text = section(PAGE, "Namespaces themselves")
    said = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text, re.MULTILINE)
    names = [name for cell in said for name in re.findall(r"`(\w+)`", cell)]
    assert names == [field.encode_name for field in msgspec.structs.fields(NamespaceSettings)]
    assert f"There are {CatalogSettings().namespaces_max:,} at most" in " ".join(text.split())


def test_codes_are_such() -> None:
    codes = set(re.findall(r"`([A-Z]+(?:_[A-Z]+)+)`", PAGE))
    assert codes - {code.name for code in ProblemCode} == {"ACKLOG_TOKEN", "ACKLOG_URL", "KEEP_UNCHANGED"} & codes
    assert {"NAMESPACE_MISMATCH", "NAMESPACE_FULL", "NAMESPACE_NOT_FOUND"} <= codes

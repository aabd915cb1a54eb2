"""Where the files of a topic are: each has folders of its own, also one in a namespace."""

from pathlib import Path

import pytest

from pyspark_acklog.export.directory import ExportDirectory, folder_of, topic_of
from pyspark_acklog.export.failures import ExportError
from pyspark_acklog.export.local_storage import LocalStorage
from pyspark_acklog.export.verify import topics_in


def test_a_name_is_told_from_its_folder() -> None:
    for topic, folder in (("orders", "orders"), ("shop/orders", "shop%2Forders")):
        assert (folder_of(topic), topic_of(folder)) == (folder, topic)


def test_topics_of_namespaces_stand_beside_others(tmp_path: Path) -> None:
    storage = LocalStorage(str(tmp_path))
    for topic in ("shop/orders", "shop", "orders", "other/orders"):
        directory = ExportDirectory(storage, topic)
        assert storage.put_if_absent(directory.manifest_path(1), topic.encode())
    assert topics_in(storage) == ["orders", "other/orders", "shop", "shop/orders"]
    assert ExportDirectory(storage, "shop/orders").numbers() == [1]
    assert ExportDirectory(storage, "shop/orders").table_path == "topic=shop%2Forders"
    assert (tmp_path / "_acklog/manifests/shop%2Forders/0000000001.json").read_text() == "shop/orders"


@pytest.mark.parametrize("topic", ["", "a/b/c", "../x", "a/..", "__a", "a%2Fb"])
def test_what_is_no_topic_has_no_folder(tmp_path: Path, topic: str) -> None:
    with pytest.raises(ExportError, match="is no topic"):
        ExportDirectory(LocalStorage(str(tmp_path)), topic)

import pytest

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.etcd.translation import key_bytes, key_text, prefix_range, transaction_request
from cluster.ports.coordination import Compare, CompareTarget, Delete, Put
from cluster.stores.key_space import Transaction


@pytest.mark.parametrize("prefix", ["/", "/a", "/é", "/\U0001f600", "\x7f", "\U0010ffff"])
def test_a_range_holds_the_keys_with_its_prefix_and_no_others(prefix: str) -> None:
    start, end = prefix_range(prefix)
    for suffix in ("", "\0", "a", "\U0010ffff" * 3):
        assert start <= key_bytes(prefix + suffix) < end
    for other in (prefix[:-1], prefix[:-1] + chr(ord(prefix[-1]) - 1) + "x", key_text(end)):
        assert not start <= other.encode(errors="surrogateescape") < end


def test_the_empty_prefix_is_everything() -> None:
    assert prefix_range("") == (b"\0", b"\0")


def test_foreign_keys_can_be_read() -> None:
    key = key_text(b"/\xff")
    assert key.startswith("/")
    with pytest.raises(ValueError):
        key_bytes(key)


def test_each_compare_names_its_own_field() -> None:
    compares = (
        Compare("/a", CompareTarget.CREATE_REVISION, 0),
        Compare("/a", CompareTarget.MOD_REVISION, 7),
        Compare("/a", CompareTarget.VERSION, 2),
        Compare("/a", CompareTarget.VALUE, b""),
    )
    request = transaction_request(Transaction(compares, (Put("/a", b"v", 9),), (Delete("/b"),)))
    found = [(each.target, each.WhichOneof("target_union"), each.result) for each in request.compare]
    kind = messages.Compare
    assert found == [
        (kind.CREATE, "create_revision", kind.EQUAL),
        (kind.MOD, "mod_revision", kind.EQUAL),
        (kind.VERSION, "version", kind.EQUAL),
        (kind.VALUE, "value", kind.EQUAL),
    ]
    assert request.success[0].request_put == messages.PutRequest(key=b"/a", value=b"v", lease=9)
    assert request.failure[0].request_delete_range == messages.DeleteRangeRequest(key=b"/b")

import pytest

from app.pki.host import HOSTS_MAX, checked_host, checked_hosts
from app.pki.pki_error import PkiError


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("localhost", "localhost"),
        ("Queue.Example.ORG", "queue.example.org"),
        ("*.nodes.example.org", "*.nodes.example.org"),
        ("acklog_node_1", "acklog_node_1"),
        ("1a.example", "1a.example"),
        ("10.0.0.7", "10.0.0.7"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("FE80::A", "fe80::a"),
    ],
)
def test_names_and_addresses(given: str, kept: str) -> None:
    assert checked_host(given) == kept


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("", "is no host"),
        ("a b", "is no host"),
        ("a..b", "is no host"),
        ("a.", "is no host"),
        (".a", "is no host"),
        ("-a", "is no host"),
        ("a-", "is no host"),
        ("a" * 64, "is no host"),
        (".".join(["a" * 60] * 5), "is no host"),
        ("a\n", "is no host"),
        ("a\0", "is no host"),
        ("*", "is no host"),
        ("a.*.b", "is no host"),
        ("*.org", "stand for too much"),
        ("256.1.1.1", "is no address"),
        ("10.0.0", "is no address"),
        ("7", "is no address"),
        ("fe80::1%eth0", "is no host"),
        ("https://a", "more than a host"),
        ("10.0.0.0/8", "more than a host"),
        ("a:8080", "a port or brackets"),
        ("[::1]", "a port or brackets"),
        ("[::1]:8080", "a port or brackets"),
        ("münchen.example", "xn--"),
    ],
)
def test_what_is_no_host(given: str, says: str) -> None:
    with pytest.raises(PkiError, match=says) as refused:
        checked_host(given)
    assert refused.value.field == "--host"


def test_each_is_taken_once_and_not_too_many() -> None:
    assert checked_hosts(["b", "a", "B", "::1", "0::1"]) == ("b", "a", "::1")
    hosts = [f"h{number}" for number in range(HOSTS_MAX + 1)]
    assert len(checked_hosts(hosts[:-1])) == HOSTS_MAX
    with pytest.raises(PkiError, match="101 hosts are more than 100"):
        checked_hosts(hosts)

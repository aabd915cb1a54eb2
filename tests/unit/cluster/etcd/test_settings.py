import pytest

from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls, EtcdUser


@pytest.mark.parametrize(
    ("endpoints", "says"),
    [
        ((), "at least one"),
        (("http://a:1",), "without a scheme"),
        (("a",), "host:port"),
        ((":2379",), "host:port"),
        (("a:x",), "host:port"),
        (("a:0",), "host:port"),
        (("a:65536",), "host:port"),
        (("a:1", "a:1"), "twice"),
    ],
)
def test_wrong_endpoints_are_named(endpoints: tuple[str, ...], says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        EtcdSettings(endpoints)
    assert "endpoints" in str(caught.value)


def test_good_endpoints() -> None:
    EtcdSettings(("a.example:2379", "10.0.0.1:2379", "[::1]:65535"))


def test_pings_are_not_more_frequent_than_etcd_allows() -> None:
    with pytest.raises(ValueError, match="ping_interval_ms"):
        EtcdSettings(("a:1",), ping_interval_ms=4_999)


def test_a_certificate_and_its_key_come_together() -> None:
    for certificate, key in ((b"x", None), (None, b"x")):
        with pytest.raises(ValueError, match="private key"):
            EtcdTls(b"ca", certificate, key)


def test_secrets_are_not_shown() -> None:
    settings = EtcdSettings(("a:1",), tls=EtcdTls(b"ca", b"c", b"hidden"), user=EtcdUser("me", "hidden"))
    assert "hidden" not in repr(settings)

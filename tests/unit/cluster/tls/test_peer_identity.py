"""Which part of a cluster a certificate names."""

import pytest

from cluster.tls.peer_identity import GATEWAY, NOBODY, PeerIdentity, identity_in, node_identity


def certificate(*uris: str) -> dict[str, object]:
    return {"subjectAltName": (("DNS", "node-1.example"), *(("URI", each) for each in uris))}


@pytest.mark.parametrize(
    ("uri", "identity"),
    [
        ("acklog://node/1", node_identity(1)),
        ("acklog://node/1000000", node_identity(1_000_000)),
        ("acklog://gateway", GATEWAY),
    ],
)
def test_a_uri_names_a_node_or_a_gateway(uri: str, identity: PeerIdentity) -> None:
    assert identity_in(certificate(uri)) == identity
    assert identity_in(certificate("https://example.com/", uri)) == identity


@pytest.mark.parametrize("own", [GATEWAY, node_identity(1), node_identity(9_999_999)])
def test_who_one_is_and_its_uri_go_together(own: PeerIdentity) -> None:
    assert identity_in(certificate(own.uri)) == own


@pytest.mark.parametrize(
    "uri",
    [
        "acklog://node/0",
        "acklog://node/01",
        "acklog://node/-1",
        "acklog://node/+1",
        "acklog://node/1/2",
        "acklog://node/",
        "acklog://node/٣",
        "acklog://node",
        "acklog://gateway/1",
        "acklog://gateways",
        "acklog://server",
        "acklog://client/node",
        "acklog://",
        "ACKLOG://gateway",
        "https://gateway",
    ],
)
def test_anything_else_names_nobody(uri: str) -> None:
    assert identity_in(certificate(uri)) == NOBODY


def test_who_would_be_two_is_nobody() -> None:
    assert identity_in(certificate("acklog://gateway", "acklog://node/1")) == NOBODY
    assert identity_in(certificate("acklog://node/1", "acklog://client/reports")) == NOBODY


@pytest.mark.parametrize("given", [None, {}, {"subjectAltName": ()}, certificate()])
def test_without_a_name_it_is_nobody(given: dict[str, object] | None) -> None:
    assert identity_in(given) == NOBODY


def test_a_host_name_is_no_identity() -> None:
    assert identity_in({"subjectAltName": (("DNS", "acklog://gateway"),)}) == NOBODY

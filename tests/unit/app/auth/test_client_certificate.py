"""Whom a certificate names: one name, or nobody."""

import pytest

from app.auth.client_certificate import CERTIFICATE_NAME_LENGTH_MAX, ClientCertificate, certificate_shown

END = "Jan  1 00:00:00 2030 GMT"
END_MS = 1_893_456_000_000


def shown(*names: tuple[str, str], common: tuple[str, ...] = ()) -> ClientCertificate | None:
    subject = tuple((("commonName", each),) for each in common)
    return certificate_shown({"subject": subject, "subjectAltName": names, "notAfter": END})


@pytest.mark.parametrize(
    ("names", "common", "name"),
    [
        ([("DNS", "orders.example.org"), ("URI", "acklog://client/orders")], ["Orders"], "acklog://client/orders"),
        ([("DNS", "orders.example.org"), ("DNS", "other.example.org")], ["Orders"], "orders.example.org"),
        ([("IP Address", "127.0.0.1")], ["Orders"], "Orders"),
        ([], ["Orders"], "Orders"),
        ([("URI", "x" * CERTIFICATE_NAME_LENGTH_MAX)], [], "x" * CERTIFICATE_NAME_LENGTH_MAX),
    ],
)
def test_a_uri_else_a_dns_name_else_the_common_name(names: list[tuple[str, str]], common: list[str], name: str) -> None:
    assert shown(*names, common=tuple(common)) == ClientCertificate(name, END_MS)


@pytest.mark.parametrize(
    ("names", "common"),
    [
        ([("URI", "acklog://client/a"), ("URI", "acklog://client/b")], ["a"]),
        ([], ["a", "b"]),
        ([], []),
        ([], ["a\nb"]),
        ([("URI", "x" * (CERTIFICATE_NAME_LENGTH_MAX + 1))], ["a"]),
    ],
)
def test_one_that_could_be_two_callers_is_nobodys(names: list[tuple[str, str]], common: list[str]) -> None:
    assert shown(*names, common=tuple(common)) is None


@pytest.mark.parametrize("found", [None, {}])
def test_what_was_not_verified_says_nothing(found: dict[str, object] | None) -> None:
    assert certificate_shown(found) is None

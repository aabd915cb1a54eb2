"""Certificates of clients as callers, at a real server: both ways of a send decide alike, and a token counts alone."""

import json
import ssl
from http.client import HTTPSConnection
from pathlib import Path

import pytest

import acklog
from acklog.errors import Forbidden, Unauthenticated
from cluster.tls.tls_files import TlsFiles
from tests.integration.conftest import ServerMaker
from tests.support.authority import OwnAuthority
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

STATIC = "the-looks-token-0123456789"
TOKENS = """
[[tokens]]
name = "looks"
token = "the-looks-token-0123456789"
roles = ["viewer"]

[[identities]]
name = "billing"
certificates = ["acklog://client/billing-*"]
roles = ["producer"]
topics = ["bills"]
"""


@pytest.fixture
def authority(tmp_path: Path) -> OwnAuthority:
    authority = OwnAuthority(tmp_path / "pki")
    authority.issue("server")
    return authority


@pytest.fixture
def server(make_server: ServerMaker, authority: OwnAuthority, tmp_path: Path) -> ServerProcess:
    tokens = tmp_path / "tokens.toml"
    tokens.write_text(TOKENS)
    options = ("--pki", str(authority.directory), "--tls-client-certificates", "optional")
    return make_server(*options, "--tokens-file", str(tokens), authority=authority.ca_file).start()


def status_of(
    server: ServerProcess, authority: OwnAuthority, target: str, *, shown: TlsFiles | None, token: str | None
) -> tuple[int, str]:
    """Of a send: its status, and the code of its refusal."""
    context = ssl.create_default_context(cafile=str(authority.ca_file))
    if shown is not None:
        context.load_cert_chain(shown.certificate, shown.key)
    connection = HTTPSConnection("127.0.0.1", server.port, context=context, timeout=30)
    headers = {"Content-Type": "application/json", **({} if token is None else {"Authorization": f"Bearer {token}"})}
    try:
        connection.request("POST", target, json.dumps({"queue": "bills", "body": 1}), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()).get("code", "")
    finally:
        connection.close()


def test_who_sends(server: ServerProcess, authority: OwnAuthority) -> None:
    billing, other, gateway = (authority.issue(stem) for stem in ("client-billing-1", "client-other", "gateway"))
    expected = [
        (billing, None, (201, "")),
        (billing, STATIC, (403, "FORBIDDEN")),
        (billing, "nobody's-token-0123456789", (401, "UNAUTHENTICATED")),
        (other, None, (401, "UNAUTHENTICATED")),
        (gateway, None, (401, "UNAUTHENTICATED")),
        (None, None, (401, "UNAUTHENTICATED")),
        (None, STATIC, (403, "FORBIDDEN")),
    ]
    for target in ("/messages", "/messages?acks=all"):
        found = [status_of(server, authority, target, shown=shown, token=token) for shown, token, _ in expected]
        assert found == [answer for _, _, answer in expected], target
    server.stop()


def test_the_sdk(server: ServerProcess, authority: OwnAuthority) -> None:
    own = authority.issue("client-billing-2")
    files = {"ca_file": str(authority.ca_file), "certificate_file": own.certificate, "key_file": own.key}
    with acklog.Client(server.base_url, **files) as client:
        client.send("bills", 1)
        who = client.tokens.own()
        assert who.name == "certificate:acklog://client/billing-2"
        assert who.expires_at_ms is not None
        assert client.tokens.can("send", topic="bills").allowed
        with pytest.raises(Forbidden):
            client.send("orders", 1)
    with acklog.Client(server.base_url, ca_file=str(authority.ca_file)) as client, pytest.raises(Unauthenticated):
        client.tokens.own()
    server.stop()

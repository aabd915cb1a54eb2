"""Tokens of an issuer, from the issuer's keys to what their holders may do, against a real server and its command."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from acklog.client.client import Client
from acklog.command.exit_codes import ExitCode
from acklog.errors import Forbidden, KeysUnavailable, TokenExpired, Unauthenticated
from tests.support.command_run import CommandRun, run_command
from tests.support.local_issuer import AUDIENCE, KEYS_PATH, LocalIssuer, ec_key, local_issuer, signed_token
from tests.support.server_process import ServerProcess
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

STATIC = "the-roots-token-0123456789"
TOKENS = """
[[tokens]]
name = "root"
token = "the-roots-token-0123456789"
roles = ["admin"]

[[identities]]
name = "tenants"
claims = { tenant = "*" }
roles = ["producer", "consumer"]
topics = ["{tenant}.*"]
groups = ["{tenant}.*"]

[[identities]]
name = "limited"
claims = { plan = "free" }
roles = ["viewer"]
requestsPerSecond = 1
"""
SECONDS = 30


@pytest.fixture
def issuer() -> Iterator[LocalIssuer]:
    with local_issuer() as issuer:
        yield issuer


def options_of(issuer: LocalIssuer, tokens: Path, *more: str) -> tuple[str, ...]:
    tokens.write_text(TOKENS)
    issued = ("--jwt-issuer", issuer.url, "--jwt-audience", AUDIENCE)
    return ("--tokens-file", str(tokens), *issued, "--jwt-keys-pause-ms", "100", "--jwt-leeway-ms", "0", *more)


def acklog(server: ServerProcess, token: str, *arguments: str) -> CommandRun:
    return run_command(*arguments, environment={"ACKLOG_URL": server.base_url, "ACKLOG_TOKEN": token})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_what_a_holder_may_do_and_sees(tmp_path: Path, issuer: LocalIssuer) -> None:
    options = options_of(issuer, tmp_path / "tokens.toml")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        token = issuer.token(tenant="acme")
        with Client(server.base_url, token=token) as client:
            client.send("acme.orders", {"order": 1})
            [message] = client.receive("acme.orders", group="acme.shop", wait_s=5)
            client.ack(message)
            with pytest.raises(Forbidden):
                client.send("other.orders", 1)
            own = client.tokens.own()
            assert own.name == "jwt:alice"
            assert own.expires_at_ms is not None
            assert client.tokens.can("send", topic="acme.x").allowed
            assert not client.tokens.can("send", topic="other.x").allowed
        assert acklog(server, token, "can", "send", "topic:acme.orders").exit_code == ExitCode.DONE
        can = acklog(server, token, "can", "send", "topic:acme.orders")
        assert "identity 'tenants': role 'producer'" in can.stdout
        assert acklog(server, token, "can", "send", "topic:other").exit_code == ExitCode.NOT_ALLOWED
        nobody = server.request("GET", "/token", headers=bearer(issuer.token()))
        assert (nobody.status, nobody.document["rights"]) == (200, [])
        assert server.request("GET", "/topics", headers=bearer(issuer.token())).status == 403
        metrics = server.request("GET", "/metrics", headers=bearer(STATIC)).content.decode()
        assert "acklog_jwt_keys 1.0" in metrics
        assert "acklog_jwt_keys_age_seconds " in metrics
        free = bearer(issuer.token(plan="free", sub="bob", tenant="bob"))
        sends = [server.request("POST", "/messages", {"queue": "bob.x", "body": 1}, headers=free) for _ in range(20)]
        assert "QUOTA_EXCEEDED" in {answer.code for answer in sends}, "quotas are by the caller's name"
        server.stop()


def test_both_ways_of_a_send_refuse_alike(tmp_path: Path, issuer: LocalIssuer) -> None:
    """A plain send takes the short way; with a query it goes through the application."""
    options = options_of(issuer, tmp_path / "tokens.toml")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        good, other = issuer.token(tenant="acme"), ec_key()
        header, payload, signature = good.split(".")
        cases = {
            good: (201, ""),
            issuer.token(tenant="other"): (403, "FORBIDDEN"),
            issuer.token(tenant="*"): (401, "UNAUTHENTICATED"),
            issuer.token(tenant="acme", exp=1): (401, "TOKEN_EXPIRED"),
            issuer.token(tenant="acme", aud="other"): (401, "UNAUTHENTICATED"),
            issuer.token(tenant="acme", nbf=9_999_999_999): (401, "UNAUTHENTICATED"),
            signed_token(issuer.claims(tenant="acme"), other, "first"): (401, "UNAUTHENTICATED"),
            f"{header}.{payload}.": (401, "UNAUTHENTICATED"),
            f"{header}.{payload}x.{signature}": (401, "UNAUTHENTICATED"),
            f"{header}.{payload}.{signature}{'x' * 9000}": (401, "UNAUTHENTICATED"),
        }
        for token, expected in cases.items():
            message = {"queue": "acme.orders", "body": 1}
            for target in ("/messages", "/messages?acks=all"):
                answer = server.request("POST", target, message, headers=bearer(token))
                assert (answer.status, answer.code) == expected
        assert len(issuer.asked) == 2, "a signature that is wrong has nobody asked"
        server.stop()
    log = (tmp_path / "server.log").read_text()
    assert "jwt_refused.signature" in log
    assert good not in log


def test_keys_change_and_one_that_is_gone_signs_nothing(tmp_path: Path, issuer: LocalIssuer) -> None:
    options = options_of(issuer, tmp_path / "tokens.toml", "--jwt-keys-refresh-ms", "1000")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        old = issuer.token(tenant="acme")
        issuer.keys["second"] = ec_key()
        new = issuer.token("second", tenant="acme")
        with Client(server.base_url, token=new) as client:
            client.send("acme.orders", 1)  # is told to come again, and does
        assert server.request("GET", "/token", headers=bearer(old)).status == 200
        del issuer.keys["first"]
        wait_until(
            lambda: server.request("GET", "/token", headers=bearer(old)).status == 401,
            seconds=SECONDS,
            what="the end of the first key",
        )
        assert server.request("GET", "/token", headers=bearer(new)).status == 200
        server.stop()


def test_a_client_whose_token_is_renewed(tmp_path: Path, issuer: LocalIssuer) -> None:
    options = options_of(issuer, tmp_path / "tokens.toml")
    file = tmp_path / "token"
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        file.write_text(issuer.token(tenant="acme", sub="first") + "\n")
        shown = [issuer.token(tenant="acme", sub="first")]
        with (
            Client(server.base_url, token_file=str(file)) as by_file,
            Client(server.base_url, token=lambda: shown[-1]) as by_function,
        ):
            for client in (by_file, by_function):
                assert client.tokens.own().name == "jwt:first"
            file.write_text(issuer.token(tenant="acme", sub="second"))
            shown.append(issuer.token(tenant="acme", sub="second"))
            for client in (by_file, by_function):
                renewed = lambda client=client: client.tokens.own().name == "jwt:second"  # noqa: E731
                wait_until(renewed, seconds=SECONDS, what="the next token")
        server.stop()


def test_an_issuer_that_is_away(tmp_path: Path, issuer: LocalIssuer) -> None:
    """At the start, and later for longer than its keys are good."""
    more = ("--jwt-keys-refresh-ms", "1000", "--jwt-keys-good-ms", "2000", "--jwt-keys-timeout-ms", "500")
    issuer.is_away = True
    options = options_of(issuer, tmp_path / "tokens.toml", *more)
    token = issuer.token(tenant="acme")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:

        def status() -> int:
            return server.request("GET", "/token", headers=bearer(token)).status

        refused = server.request("GET", "/token", headers=bearer(token))
        assert (refused.status, refused.code) == (503, "KEYS_UNAVAILABLE")
        assert refused.headers["retry-after"] == "1"
        assert server.request("GET", "/token", headers=bearer(STATIC)).status == 200
        doctor = acklog(server, STATIC, "doctor")
        assert "no key of the issuer is good" in doctor.stdout
        issuer.is_away = False
        wait_until(lambda: status() == 200, seconds=SECONDS, what="the issuer's keys")
        issuer.answers[KEYS_PATH] = (200, {}, b"{}")
        assert status() == 200, "what is broken changes nothing, for as long as was agreed"
        wait_until(lambda: status() == 503, seconds=SECONDS, what="the end of the keys")
        with Client(server.base_url, token=token, retries_max=0) as client, pytest.raises(KeysUnavailable):
            client.tokens.own()
        server.stop()


def test_rules_are_read_again_with_the_file(tmp_path: Path, issuer: LocalIssuer) -> None:
    tokens = tmp_path / "tokens.toml"
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options_of(issuer, tokens)) as server:
        token = issuer.token(tenant="acme")
        send = {"queue": "acme.orders", "body": 1}
        assert server.request("POST", "/messages", send, headers=bearer(token)).status == 201
        tokens.write_text(TOKENS.replace("{tenant}.*", "only.{tenant}"))
        server.signal(signal.SIGHUP)
        wait_until(
            lambda: server.request("POST", "/messages", send, headers=bearer(token)).status == 403,
            seconds=SECONDS,
            what="the new rules",
        )
        tokens.write_text(TOKENS.replace("{tenant}.*", "{tenant"))
        server.signal(signal.SIGHUP)
        wait_until(lambda: "reload_refused" in server.output(), seconds=SECONDS, what="the refusal")
        assert server.request("GET", "/token", headers=bearer(token)).status == 200
        server.stop()


def test_replay_is_good_until_the_end_and_a_long_poll_ends_with_it(tmp_path: Path, issuer: LocalIssuer) -> None:
    """As with tokens of ours."""
    options = options_of(issuer, tmp_path / "tokens.toml")
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        ends_s = int(issuer.claims()["iat"]) + 8  # type: ignore[call-overload]
        token = issuer.token(tenant="acme", exp=ends_s)
        with Client(server.base_url, token=token) as client:
            client.send("acme.orders", 1)
            client.send("acme.orders", 2)
            assert len(client.receive("acme.orders", group="acme.g", max_messages=10, wait_s=1)) == 2
            with pytest.raises(TokenExpired) as refused:
                client.receive("acme.orders", group="acme.g", wait_s=20)
            assert isinstance(refused.value, Unauthenticated)
            with pytest.raises(TokenExpired):
                client.send("acme.orders", 3)
        server.stop()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--jwt-issuer", "https://i.example.org", "--jwt-audience", "a"), "tokens_file is needed"),
        (("--jwt-issuer", "https://i.example.org"), "jwt_audience is needed"),
        (("--jwt-issuer", "http://i.example.org", "--jwt-audience", "a"), "it must be https"),
        (("--jwt-audience", "a"), "means nothing without jwt_issuer"),
    ],
)
def test_a_start_that_would_be_dangerous(tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    server = ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options)
    server.launch()
    assert server.wait() != 0
    assert said in server.output()

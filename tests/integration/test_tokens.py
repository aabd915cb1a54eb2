"""The first token of a new server, and what becomes of it: `acklog tokens` and `acklog can` against real servers."""

import json
from pathlib import Path

import pytest

from acklog.client.client import Client
from acklog.command.exit_codes import ExitCode
from acklog.errors import Forbidden, Unauthenticated
from tests.support.command_run import CommandRun, run_command
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration


def acklog(server: ServerProcess, *arguments: str, token: str = "") -> CommandRun:
    environment = {"ACKLOG_URL": server.base_url}
    if token:
        environment["ACKLOG_TOKEN"] = token
    return run_command(*arguments, environment=environment)


def test_from_an_open_server_to_one_of_stored_tokens(tmp_path: Path) -> None:
    """It survives restarts, and the last token's end opens nothing."""
    data, log = tmp_path / "data", tmp_path / "server.log"
    with ServerProcess(data, log) as server:
        made = acklog(server, "tokens", "create", "root", "--role", "admin", "--json")
        root = made.document["token"]
        assert acklog(server, "topics", "list").exit_code == ExitCode.DONE, "it is open as before"
    with ServerProcess(data, log, options=("--require-tokens",)) as server:
        assert acklog(server, "topics", "list").exit_code == ExitCode.NOT_ALLOWED
        shop = acklog(
            server, "tokens", "create", "shop", "--role", "producer", "--topic", "orders*", "--json", token=root
        ).document["token"]
        assert acklog(server, "send", "orders", "1", token=shop).exit_code == ExitCode.DONE
        assert acklog(server, "send", "salaries", "1", token=shop).exit_code == ExitCode.NOT_ALLOWED
        rotated = acklog(server, "tokens", "rotate", "shop", "--grace", "1h", "--json", token=root).document["token"]
        for each in (shop, rotated):
            assert acklog(server, "send", "orders", "1", token=each).exit_code == ExitCode.DONE
        again = acklog(server, "tokens", "rotate", "shop", token=root)
        assert (again.exit_code, "--discard" in again.stderr or "discard" in again.stderr) == (ExitCode.FAILED, True)
        discarding = acklog(server, "tokens", "rotate", "shop", "--discard", "newest", token=root)
        assert discarding.exit_code == ExitCode.DONE
        assert acklog(server, "send", "orders", "1", token=rotated).exit_code == ExitCode.NOT_ALLOWED
        listed = acklog(server, "tokens", "list", "--json", token=root)
        assert [each["name"] for each in listed.document["tokens"]] == ["root", "shop"]
        assert "two secrets" in acklog(server, "tokens", "list", token=root).stdout
        assert acklog(server, "tokens", "revoke", "shop", token=root).exit_code == ExitCode.USAGE, "it is asked"
        assert acklog(server, "tokens", "revoke", "shop", "--yes", token=root).exit_code == ExitCode.DONE
        assert acklog(server, "tokens", "revoke", "root", "--yes", token=root).exit_code == ExitCode.DONE
        assert acklog(server, "tokens", "list", token=root).exit_code == ExitCode.NOT_ALLOWED
        assert acklog(server, "topics", "list").exit_code == ExitCode.NOT_ALLOWED
    tokens = tmp_path / "tokens.json"
    tokens.write_text(
        json.dumps({"tokens": [{"name": "back", "token": "a-way-back-in-0123456789", "roles": ["admin"]}]})
    )
    with ServerProcess(data, log, options=("--require-tokens", "--tokens-file", str(tokens))) as server:
        assert acklog(server, "tokens", "list", token="a-way-back-in-0123456789").exit_code == ExitCode.DONE


def test_can_says_why(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    root = "the-roots-token-0123456789"
    tokens.write_text(json.dumps({"tokens": [{"name": "root", "token": root, "roles": ["admin"]}]}))
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=("--tokens-file", str(tokens))) as server:
        allow = '{"allow": ["send"], "topics": ["orders*"]}'
        deny = '{"deny": ["send"], "topics": ["orders-old"]}'
        made = acklog(server, "tokens", "create", "shop", "--right", allow, "--right", deny, token=root)
        assert "allow send on topics orders*" in made.stdout
        [shop] = [line.split()[-1] for line in made.stdout.splitlines() if "ak_" in line]
        yes = acklog(server, "can", "send", "topic:orders", token=shop)
        assert (yes.exit_code, "rights[0]: allow send on topics orders*" in yes.stdout) == (ExitCode.DONE, True)
        no = acklog(server, "can", "send", "topic:orders-old", "--name", "shop", token=root)
        assert (no.exit_code, "rights[1]: deny send" in no.stdout) == (ExitCode.NOT_ALLOWED, True)
        assert acklog(server, "can", "manage", "cluster", token=shop).exit_code == ExitCode.NOT_ALLOWED
        assert acklog(server, "can", "look", "group:g", "--json", token=root).document["allowed"]
        assert acklog(server, "can", "send", "orders", token=shop).exit_code == ExitCode.USAGE
        assert acklog(server, "tokens", "create", "x", "--right", "{", token=root).exit_code == ExitCode.USAGE


def test_namesakes_are_told(tmp_path: Path) -> None:
    """A file that is read at the next start has a token of the name of a stored one."""
    tokens = tmp_path / "tokens.json"
    root = "the-roots-token-0123456789"
    entries = [{"name": "root", "token": root, "roles": ["admin"]}]
    tokens.write_text(json.dumps({"tokens": entries}))
    options = ("--tokens-file", str(tokens))
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        acklog(server, "tokens", "create", "shop", "--role", "viewer", token=root)
    entries.append({"name": "shop", "token": "a-namesake-0123456789", "roles": ["producer"]})
    tokens.write_text(json.dumps({"tokens": entries}))
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=options) as server:
        sends = acklog(server, "can", "send", "topic:orders", "--name", "shop", token=root)
        assert sends.exit_code == ExitCode.DONE, "one of them may"
        assert [line.split()[0] for line in sends.stdout.splitlines()] == [
            *("token", "may", "by", "namesake", "may", "by"),
        ]
        purges = acklog(server, "can", "purge", "topic:orders", "--name", "shop", "--json", token=root)
        assert (purges.exit_code, purges.document["namesakes"]) == (ExitCode.NOT_ALLOWED, [{"allowed": False}])
        assert "token names" in acklog(server, "doctor", token=root).stdout
        assert "token_names_shared" in server.output()
        with Client(server.base_url, token=root) as client:
            [other] = client.tokens.can("send", topic="orders", name="shop").namesakes
            assert other.allowed


def test_the_sdk(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    root = "the-roots-token-0123456789"
    tokens.write_text(json.dumps({"tokens": [{"name": "root", "token": root, "roles": ["admin"]}]}))
    with ServerProcess(tmp_path / "data", tmp_path / "server.log", options=("--tokens-file", str(tokens))) as server:
        with Client(server.base_url, token=root) as client:
            made = client.tokens.create("shop", roles=["producer"], topics=["orders"], requests_per_second=1000)
            assert made.token not in repr(made)
            assert client.tokens.get("shop") == made.made
            assert [each.name for each in client.tokens.list()] == ["shop"]
            assert client.tokens.can("send", topic="orders", name="shop").allowed
        with Client(server.base_url, token=made.token) as shop:
            assert shop.tokens.own().name == "shop"
            assert not shop.tokens.can("look").allowed
            with pytest.raises(Forbidden):
                shop.tokens.list()
            with Client(server.base_url, token=root) as client:
                assert client.tokens.rotate("shop", grace_seconds=0).made.id == made.made.id
            with pytest.raises(Unauthenticated):
                shop.tokens.own()

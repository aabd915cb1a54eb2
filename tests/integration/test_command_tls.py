"""The command against a server that speaks TLS."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acklog.command.exit_codes import ExitCode
from tests.support.command_run import CommandRun, run_command
from tests.support.own_authority import DAY_MS, NOW_MS, TlsFilesOf, made_authority, signed, subject
from tests.support.tls_server import TlsServer, tls_served

pytestmark = pytest.mark.integration


class Shop:
    """A server that asks who calls, and the files of one who may."""

    def __init__(self, server: TlsServer, files: TlsFilesOf) -> None:
        self.server = server
        self.files = files
        self.environment = {"ACKLOG_URL": server.url}
        self.options = [
            *("--ca-file", str(files.ca), "--certificate-file", str(files.certificate)),
            *("--key-file", str(files.key)),
        ]

    async def run(self, *words: str, **surroundings: Any) -> CommandRun:
        return await asyncio.to_thread(
            run_command, *words, environment=self.environment, surroundings={"pause": lambda _s: None, **surroundings}
        )


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    authority = made_authority()
    own = TlsFilesOf(tmp_path / "server").trust(authority).hold(signed(authority))
    files = TlsFilesOf(tmp_path / "client").trust(authority).hold(signed(authority, subject("client", "ada")))
    async with tls_served(tmp_path / "data", own.server_context(wants_clients=True)) as server:
        yield Shop(server, files)


async def test_it_is_called_by_options_a_profile_and_the_environment(shop: Shop, tmp_path: Path) -> None:
    sent = await shop.run("send", "orders", "1", *shop.options)
    assert sent.exit_code == 0, sent.stderr
    around = {"config_directory": tmp_path / "acklog"}
    await shop.run("profile", "add", "shop", "--server", shop.server.url, *shop.options, **around)
    shop.environment = {}
    assert (await shop.run("topics", "list", "--json", **around)).document["topics"][0]["name"] == "orders"
    tail = await shop.run("tail", "orders", "--from", "earliest", "--no-follow", "--json", **around)
    assert len(tail.lines) == 1, tail.stderr


async def test_what_is_wrong_and_what_to_do(shop: Shop) -> None:
    refused = await shop.run("topics", "list", "--timeout", "5")
    assert refused.exit_code == ExitCode.SERVER_AWAY
    assert "is not trusted" in refused.stderr
    assert "Files are named by --ca-file" in refused.stderr
    unknown = await shop.run("topics", "list", "--timeout", "5", "--ca-file", str(shop.files.ca), "--json")
    assert unknown.exit_code == ExitCode.SERVER_AWAY
    assert "--certificate-file and --key-file" in unknown.error["detail"]


async def test_a_doctor_looks_at_the_certificate(shop: Shop) -> None:
    def check_of(ran: CommandRun) -> dict[str, str]:
        [found] = [each for each in ran.document["checks"] if each["check"] == "certificate"]
        return dict(found)

    found = check_of(await shop.run("doctor", "--json", *shop.options))
    assert found["outcome"] == "ok"
    assert found["finding"].startswith("signed by Tests ")
    assert found["finding"].endswith("for localhost, 127.0.0.1, ::1; 89 days left")
    ran = await shop.run("doctor", "--json", *shop.options, now_ms=lambda: NOW_MS + 88 * DAY_MS)
    assert check_of(ran)["outcome"] == "fail"
    assert ran.exit_code == ExitCode.FAILED

    not_reached = check_of(await shop.run("doctor", "--json", "--timeout", "5"))
    assert not_reached["outcome"] == "skipped"

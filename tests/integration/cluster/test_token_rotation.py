"""Tokens change while they are used: every send by https gateways is a success, and no process is restarted."""

import asyncio
import os
import signal
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest

import acklog
from acklog.errors import Unauthenticated
from app.local_cluster.server_process import ServerProcess
from cluster.tls.tls_files import TlsFiles
from tests.integration.cluster.sdk_load import SdkLoad, client_load
from tests.support.authority import OwnAuthority
from tests.support.command_run import run_command
from tests.support.real_cluster import RealCluster, RealClusterOptions, running_real_cluster
from tests.support.waiting import poll_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.xdist_group("cluster faults"),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.timeout(600),
    pytest.mark.faults,
]

PATIENCE_S = 120
SENDS = 20
GRACE_S = 10
"""Longer than a command takes to end and the SDK to look at its file again, also on a machine with much to do."""
ROTATIONS = 2
ROOT = "token-of-who-rotates-the-others"
RIGHTS = 'roles = ["operator", "producer", "consumer"]'
YEARS = (2031, 2032, 2033)
"""In which the file's tokens of one name end: by that they are told from each other."""


class Gateways:
    """Of a cluster, called by https. `tokens_file` is that of all of them."""

    def __init__(self, cluster: RealCluster, files: TlsFiles, tokens_file: Path) -> None:
        self.processes: list[ServerProcess] = list(cluster.gateways.values())
        self.urls = [url.replace("http:", "https:") for url in cluster.gateway_urls]
        self.ca_file = files.authorities
        self._tokens_file = tokens_file

    def client(self, gateway: int, *, token: str | None = None, token_file: Path | None = None) -> acklog.AsyncClient:
        file = None if token_file is None else str(token_file)
        return acklog.AsyncClient(
            self.urls[gateway], token=token, token_file=file, ca_file=self.ca_file, timeout_s=PATIENCE_S
        )

    async def rotate(self, gateway: int, name: str, *, grace_s: int) -> str:
        """As an operator does it; returns the new token."""
        arguments = ["tokens", "rotate", name, "--grace", f"{grace_s}s", "--json"]
        environment = {"ACKLOG_URL": self.urls[gateway], "ACKLOG_TOKEN": ROOT, "ACKLOG_CA_FILE": self.ca_file}
        run = await asyncio.to_thread(run_command, *arguments, environment=environment)
        assert run.exit_code == 0, run.stderr
        return str(run.document["token"])

    async def reload(self, years: Iterable[int]) -> None:
        """The file has the tokens of these years, and all gateways have read it."""
        before = [reloads_of(each) for each in self.processes]
        replace_file(self._tokens_file, tokens_file_of(years))
        for each in self.processes:
            os.kill(each.pid, signal.SIGHUP)

        async def have_all() -> bool:
            return all(reloads_of(each) > count for each, count in zip(self.processes, before, strict=True))

        await poll_until(have_all, seconds=PATIENCE_S, what="both gateways read the tokens again")

    async def is_refused(self, token: str) -> bool:
        """By every gateway."""
        for gateway, _ in enumerate(self.urls):
            async with self.client(gateway, token=token) as client:
                try:
                    await client.tokens.own()
                except Unauthenticated:
                    continue
                return False
        return True


def file_token(year: int) -> str:
    return f"token-of-the-file-until-{year}"


def tokens_file_of(years: Iterable[int]) -> str:
    root = f'[[tokens]]\nname = "root"\ntoken = "{ROOT}"\nroles = ["admin"]\n'
    ending = "[[tokens]]\nname = 'filed'\ntoken = '{token}'\n{rights}\nexpiresAt = {year}-01-01T00:00:00Z\n"
    return root + "".join(ending.format(token=file_token(year), rights=RIGHTS, year=year) for year in years)


def replace_file(path: Path, text: str) -> None:
    """Nobody reads a half of it."""
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def reloads_of(gateway: ServerProcess) -> int:
    return gateway.log_path.read_bytes().count(b'"event": "reloaded"')


async def progress(loads: Iterable[SdkLoad]) -> None:
    """Messages more are sent and handled by each."""
    wanted = [(load, len(load.confirmed) + SENDS) for load in loads]

    async def are_on() -> bool:
        return all(min(len(load.confirmed), len(load.handled)) >= count for load, count in wanted)

    await poll_until(are_on, seconds=PATIENCE_S, what=f"{SENDS} messages more")


async def test_stored_tokens_and_those_of_the_file_are_rotated_without_a_failed_call(
    etcd_program: Path, tmp_path: Path
) -> None:
    files = OwnAuthority(tmp_path / "pki").issue("gateway")
    tokens_file = tmp_path / "tokens.toml"
    tokens_file.write_text(tokens_file_of(YEARS[:1]))
    environment = {
        "ACKLOG_TOKENS_FILE": str(tokens_file),
        "ACKLOG_TLS_CERTIFICATE_FILE": files.certificate,
        "ACKLOG_TLS_KEY_FILE": files.key,
        "ACKLOG_TLS_ACCEPT_CLEAR": "true",  # whoever waits for the start asks by http
    }
    options = RealClusterOptions(etcd_members=1, gateway_environment=environment)
    async with running_real_cluster(tmp_path, etcd_program, options) as cluster:
        gateways = Gateways(cluster, files, tokens_file)
        processes = [each.pid for each in gateways.processes]
        stored, filed = tmp_path / "stored-token", tmp_path / "filed-token"
        async with gateways.client(0, token=ROOT) as root:
            made = await root.tokens.create("stored", roles=["operator", "producer", "consumer"])
        stored.write_text(made.token)
        filed.write_text(file_token(YEARS[0]))

        async with (
            gateways.client(0, token_file=stored) as by_store,
            gateways.client(1, token_file=filed) as by_file,
            client_load(by_store, "stored", "of-stored") as stored_load,
            client_load(by_file, "filed", "of-filed") as filed_load,
        ):
            loads = [stored_load, filed_load]
            await progress(loads)
            for _ in range(ROTATIONS):
                await rotate_stored(gateways, stored, loads)
            for before, after in pairwise(YEARS):
                await rotate_filed(gateways, filed, by_file, before, after)
                await progress(loads)
        assert stored_load.confirmed <= stored_load.handled.keys()
        assert filed_load.confirmed <= filed_load.handled.keys()

        # Without a grace, who is not told beforehand is refused: the load above would have noticed.
        async with gateways.client(0, token_file=stored) as late:
            await late.send("stored", 1)
            await gateways.rotate(0, "stored", grace_s=0)
            with pytest.raises(Unauthenticated):
                await late.send("stored", 1)
        assert [each.pid for each in gateways.processes] == processes


async def rotate_stored(gateways: Gateways, path: Path, loads: list[SdkLoad]) -> None:
    """By the gateway that its client does not call."""
    before = path.read_text()
    replace_file(path, await gateways.rotate(1, "stored", grace_s=GRACE_S))

    async def is_over() -> bool:
        return await gateways.is_refused(before)

    await poll_until(is_over, seconds=PATIENCE_S, what="the grace is over")
    await progress(loads)


async def rotate_filed(gateways: Gateways, path: Path, client: acklog.AsyncClient, before: int, after: int) -> None:
    """Both are good until the client shows the new one."""
    until = (await client.tokens.own()).expires_at_ms
    await gateways.reload([before, after])
    replace_file(path, file_token(after))

    async def is_shown() -> bool:
        return (await client.tokens.own()).expires_at_ms != until

    await poll_until(is_shown, seconds=PATIENCE_S, what="the SDK has read its file again")
    await gateways.reload([after])
    assert await gateways.is_refused(file_token(before))

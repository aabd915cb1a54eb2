"""How a server starts, what it says, when it refuses to, and what becomes of requests when it stops."""

import asyncio
import json
import re
import resource
import subprocess
from pathlib import Path

import aiohttp
import pytest

from tests.integration.conftest import ServerMaker
from tests.support.server_process import ServerProcess
from tests.support.waiting import poll_until, wait_until

pytestmark = pytest.mark.integration


def refused_start(server: ServerProcess) -> tuple[int, str]:
    """Exit code and output of a server that should not start."""
    server.launch()
    code = server.wait(seconds=30)
    return code, server.output()


def test_pages_that_are_named_may_call_it(make_server: ServerMaker) -> None:
    page = {"Origin": "https://shop.example", "Sec-Fetch-Site": "cross-site"}
    with make_server("--cors-origins", page["Origin"]) as server:
        may = server.request("OPTIONS", "/messages", headers={**page, "Access-Control-Request-Method": "POST"})
        sent = server.request("POST", "/messages", {"queue": "orders", "body": 1}, headers=page)
        other = server.request("POST", "/messages", {}, headers={**page, "Origin": "https://other.example"})
        server.stop()
    assert [each.status for each in (may, sent, other)] == [200, 201, 403]
    assert may.headers["access-control-allow-origin"] == sent.headers["access-control-allow-origin"] == page["Origin"]


class TestWelcome:
    def test_it_names_the_address_and_the_data_directory(self, server: ServerProcess) -> None:
        text = server.output()
        assert server.base_url in text
        assert str(server.data_directory) in text

    def test_its_three_curl_lines_work_when_pasted(self, server: ServerProcess) -> None:
        lines = [line.strip() for line in server.output().splitlines() if line.strip().startswith("curl ")]
        assert len(lines) == 3
        sent = json.loads(run_line(lines[0]))
        assert re.fullmatch("m-.*", sent["messageId"])
        received = json.loads(run_line(lines[1]))
        (message,) = received["messages"]
        assert message["messageId"] == sent["messageId"]
        placeholder = re.search(r'"receipt": "([^"]*)"', lines[2])
        assert placeholder is not None
        acked = json.loads(run_line(lines[2].replace(placeholder[1], message["receipt"])))
        assert "code" not in acked
        state = server.request("GET", f"/messages/{sent['messageId']}").document
        assert [group["state"] for group in state["groups"]] == ["done"]


def run_line(line: str) -> str:
    return subprocess.run(["sh", "-c", line], check=True, capture_output=True, text=True, timeout=30).stdout


class TestRefusals:
    def test_a_second_server_on_the_same_directory(self, make_server: ServerMaker) -> None:
        first = make_server().start()
        code, output = refused_start(make_server())
        assert code != 0
        (line,) = output.strip().splitlines()
        assert "data directory" in line
        assert str(first.data_directory) in line
        assert first.request("GET", "/readyz").status == 200
        first.send("orders", 1)

    def test_a_newer_format_on_disk(self, make_server: ServerMaker) -> None:
        server = make_server().start()
        server.send("orders", 1)
        server.stop()
        meta_file = server.data_directory / "meta.json"
        content = meta_file.read_text()
        version = json.loads(content)["meta"]["formatVersion"]
        meta_file.write_text(content.replace(f'"formatVersion":{version}', f'"formatVersion":{version + 1}'))
        code, output = refused_start(make_server())
        assert code != 0
        (line,) = output.strip().splitlines()
        assert f"format {version + 1}" in line
        meta_file.write_text(content)
        assert [message["body"] for message in server.start().receive("orders")] == [1]

    @pytest.mark.parametrize("host", ["0.0.0.0", "::"])
    def test_a_public_address_without_tokens(self, make_server: ServerMaker, host: str) -> None:
        code, output = refused_start(make_server(host=host))
        assert code == 2
        (line,) = output.strip().splitlines()
        assert "--insecure" in line
        assert "--tokens-file" in line

    def test_a_public_address_if_asked_for(self, make_server: ServerMaker) -> None:
        make_server("--insecure", host="0.0.0.0").start()

    def test_a_public_address_with_tokens(self, make_server: ServerMaker, tmp_path: Path) -> None:
        tokens = tmp_path / "tokens.json"
        tokens.write_text('{"tokens": [{"name": "a", "token": "a-token-for-tests", "scopes": ["write"]}]}')
        server = make_server("--tokens-file", str(tokens), host="0.0.0.0").start()
        assert server.request("POST", "/messages", {"queue": "q", "body": 1}).code == "UNAUTHENTICATED"
        headers = {"Authorization": "Bearer a-token-for-tests"}
        assert server.request("POST", "/messages", {"queue": "q", "body": 1}, headers=headers).status == 201
        assert "a-token-for-tests" not in server.output()

    @pytest.mark.parametrize(
        "options", [("--port", "none"), ("--port", "65536"), ("--no-such-option", "1"), ("--tokens-file", "/missing")]
    )
    def test_settings_that_cannot_be_used(self, make_server: ServerMaker, options: tuple[str, ...]) -> None:
        code, output = refused_start(make_server(*options))
        assert code == 2, output
        assert "Traceback" not in output

    def test_an_unknown_variable_is_only_told(self, make_server: ServerMaker) -> None:
        assert "ACKLOG_PROT" in make_server(environment={"ACKLOG_PROT": "1"}).start().output()

    def test_a_data_directory_that_is_a_file(self, make_server: ServerMaker, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("not a directory")
        code, output = refused_start(make_server())
        assert code != 0
        assert "Traceback" not in output
        assert str(tmp_path / "data") in output

    def test_a_port_that_is_taken(self, make_server: ServerMaker, tmp_path: Path) -> None:
        first = make_server().start()
        code, output = refused_start(make_server("--port", str(first.port), data_directory=tmp_path / "other"))
        assert code != 0
        assert "Traceback" not in output
        assert str(first.port) in output


class TestFailedDevice:
    def test_it_ends_the_process_so_that_a_supervisor_begins_a_new_one(self, make_server: ServerMaker) -> None:
        """A write that the system refuses for good (the file's size is limited here): the next start verifies."""
        server = make_server().start()
        sent = server.send("orders", "x" * 500_000)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        refused = server.request("POST", "/messages", {"queue": "orders", "body": 1})
        assert (refused.status, refused.code) == (503, "STORAGE_FAILED")
        assert server.wait() == 1
        assert "storage_failed" in server.output()
        server.start()
        assert server.request("GET", f"/messages/{sent['messageId']}").status == 200
        server.send("orders", "later")


class TestStop:
    async def test_long_polls_are_answered_and_writes_completed(self, make_server: ServerMaker) -> None:
        server = make_server().start()
        server.send("orders", "first", partition=0)
        server.request("PUT", "/topics/idle", {})
        async with aiohttp.ClientSession(base_url=server.base_url) as session:
            polls = [asyncio.create_task(poll(session, "idle", f"group-{number}")) for number in range(20)]
            stored: list[tuple[int, int]] = []
            senders = [asyncio.create_task(send_until_refused(session, "orders", stored)) for _ in range(8)]

            async def is_busy() -> bool:
                return len(stored) > 200 and "group-19" in await groups_of(session)

            await poll_until(is_busy, seconds=30, what="polls that wait, and sends under way")
            server.terminate()
            answers = await asyncio.gather(*polls)
            refusals = await asyncio.gather(*senders)
        assert [status for status, _ in answers] == [200] * 20
        assert {document["reason"] for _, document in answers} == {"SHUTTING_DOWN"}
        assert set(refusals) <= {"SHUTTING_DOWN", "closed"}
        assert await asyncio.to_thread(server.wait) == 0
        assert "Traceback" not in server.output()
        await asyncio.to_thread(server.start)
        found = set(places(server, "orders"))
        assert set(stored) <= found

    def test_a_restart_keeps_progress_and_leases_nothing_done(self, server: ServerProcess) -> None:
        server.request("PUT", "/topics/orders", {"partitions": 1})
        for number in range(10):
            server.send("orders", number)
        messages = server.receive("orders", max=10)
        assert server.ack(*[message["receipt"] for message in messages[::2]]).status == 200
        server.restart()
        late = server.ack(messages[1]["receipt"])
        assert late.status == 200, late
        again = wait_until(lambda: server.receive("orders", max=10), seconds=60, what="what was not acked")
        assert [message["body"] for message in again] == [3, 5, 7, 9]

    def test_interrupts_stop_it_as_well(self, server: ServerProcess) -> None:
        server.signal(2)
        assert server.wait() == 0

    def test_an_idle_connection_does_not_hold_it_up(self, server: ServerProcess) -> None:
        with server.open_connection() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
            server.terminate()
            assert server.wait(seconds=15) == 0


async def poll(session: aiohttp.ClientSession, queue: str, group: str) -> tuple[int, dict[str, object]]:
    target = f"/messages?queue={queue}&group={group}&waitSeconds=20"
    async with session.get(target) as answer:
        return answer.status, await answer.json(content_type=None)


async def groups_of(session: aiohttp.ClientSession) -> str:
    async with session.get("/groups") as answer:
        return await answer.text()


async def send_until_refused(session: aiohttp.ClientSession, queue: str, stored: list[tuple[int, int]]) -> str:
    """Why the server takes no more."""
    while True:
        try:
            async with session.post("/messages", json={"queue": queue, "body": len(stored)}) as answer:
                document = await answer.json(content_type=None)
        except aiohttp.ClientError:
            return "closed"
        if answer.status != 201:
            return str(document["code"])
        stored.append((document["partition"], document["offset"]))


def places(server: ServerProcess, topic: str) -> list[tuple[int, int]]:
    """(partition, offset) of everything in a topic's log."""
    found = []
    for partition in range(server.request("GET", f"/topics/{topic}").document["partitions"]):
        offset = 0
        while records := server.request(
            "GET", f"/topics/{topic}/partitions/{partition}/records?offset={offset}"
        ).document["records"]:
            found += [(partition, record["offset"]) for record in records]
            offset = found[-1][1] + 1
    return found

"""Streams of the SDK, and the commands on them, against a real server that comes and goes."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import acklog
from acklog.body_encryption import BodyEncryption
from acklog.cluster_picture import ClusterPicture
from acklog.command.exit_codes import ExitCode
from acklog.errors import (
    DecryptionFailed,
    Forbidden,
    InvalidArgument,
    MessageInClear,
    TooManyWatchers,
    TopicRemoved,
    Unauthenticated,
)
from acklog.tails import TailGap
from tests.support.body_keys import CountingKeys
from tests.support.command_run import run_command
from tests.support.server_process import ServerProcess
from tests.support.tcp_proxy import TcpProxy
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    options = ("--events-interval-ms=100", "--tails-max=2")
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=options) as found:
        yield found
        assert "Traceback" not in found.output()


async def test_a_tail_goes_on_over_kills_and_stops_of_the_server(server: ServerProcess) -> None:
    for number in range(10):
        server.send("orders", number)
    async with TcpProxy(server.port) as proxy, acklog.AsyncClient(f"http://{proxy.endpoint}") as client:
        tail = client.tail("orders", from_="earliest")
        seen = [(await anext(tail)).body for _ in range(10)]
        server.kill()
        server.start()
        proxy.lead_to(server.port)
        server.send("orders", 10)
        seen.append((await anext(tail)).body)
        await tail.close()
    assert sorted(seen) == list(range(11))


def test_another_program_goes_on_by_the_cursor_and_hears_of_gaps(server: ServerProcess) -> None:
    assert server.request("PUT", "/topics/orders", {"partitions": 1}).status == 201
    for number in range(3):
        server.send("orders", number)
    with acklog.Client(server.base_url) as client:
        with client.tail("orders", from_="earliest") as tail:
            cursor = next(tail).cursor
        assert server.request("POST", "/topics/orders/purge", {}).status == 200
        server.send("orders", 3)
        gaps: list[TailGap] = []
        with client.tail("orders", cursor=cursor, on_gap=gaps.append) as tail:
            assert next(tail).body == 3
            assert gaps == [TailGap("removed", 0, 1, 3)]
            client.topics.delete("orders")
            with pytest.raises(TopicRemoved):
                next(tail)


async def test_a_link_that_breaks_loses_nothing(server: ServerProcess) -> None:
    sent = seen = 0
    async with (
        TcpProxy(server.port) as proxy,
        acklog.AsyncClient(f"http://{proxy.endpoint}") as client,
        acklog.AsyncClient(server.base_url) as sender,
        client.tail("orders", from_="earliest") as tail,
    ):
        for _ in range(5):
            for _ in range(20):
                await sender.send("orders", sent, partition=0)
                sent += 1
            while seen < sent - 10:
                assert (await anext(tail)).body == seen
                seen += 1
            proxy.cut()
            proxy.mend()
        while seen < sent:
            assert (await anext(tail)).body == seen
            seen += 1


def test_closing_in_another_thread_ends_an_iteration(server: ServerProcess) -> None:
    server.send("orders", 1)
    with acklog.Client(server.base_url) as client:
        tail = client.tail("orders", from_="earliest")
        next(tail)
        rest: list[object] = []
        waiting = threading.Thread(target=lambda: rest.extend(tail))
        waiting.start()
        tail.close()
        waiting.join(30)
        assert not waiting.is_alive()
        assert rest == []
        assert client.ready()["status"] == "ready"


def test_a_client_has_as_many_streams_as_connections_and_calls_all_the_same(server: ServerProcess) -> None:
    server.send("orders", 1)
    with acklog.Client(server.base_url, connections_max=1) as client:
        tail = client.tail("orders", from_="earliest")
        next(tail)
        client.ready()
        with pytest.raises(InvalidArgument, match="connections_max"):
            next(client.events())
        del tail
        wait_until(lambda: next(client.events()).is_first, seconds=30, what="what was dropped gave its place back")


def test_events_put_together_are_how_it_is(server: ServerProcess) -> None:
    server.send("orders", 1)
    with acklog.Client(server.base_url) as client, client.events() as events:
        picture = ClusterPicture()
        while not picture.is_whole or "orders" not in picture.topics:
            picture.apply(next(events))
        assert [node.is_live for node in picture.nodes.values()] == [True]
        client.topics.create("later", partitions=2)
        while "later" not in picture.topics:
            picture.apply(next(events))
        cursor = events.cursor
        client.topics.delete("later")
        with client.events(cursor=cursor, kinds="topics") as again:
            first = next(again)
            assert not first.is_first
            while "later" in picture.topics:
                picture.apply(first)
                first = next(again) if "later" in picture.topics else first


def test_bodies_are_decrypted_as_in_a_receive(server: ServerProcess) -> None:
    encryption = BodyEncryption(CountingKeys())
    with acklog.Client(server.base_url, body_encryption=encryption) as client:
        client.send("cards", {"number": "4111"}, key="k", partition=0)
        server.send("cards", "in clear", partition=0)
        with client.tail("cards", from_="earliest") as tail:
            assert next(tail).body == {"number": "4111"}
            with pytest.raises(MessageInClear):
                _ = next(tail).body
        with client.tail("cards", from_="earliest", max_body_bytes=20) as cut:
            message = next(cut)
            assert message.is_truncated
            with pytest.raises(DecryptionFailed, match="only the beginning"):
                _ = message.body


def test_commands_on_streams(server: ServerProcess) -> None:
    for number in range(3):
        server.send("orders", number, partition=0)
    url = ("--server", server.base_url)
    seen = run_command("tail", "orders", "--from", "earliest", "--max", "3", *url)
    assert (seen.exit_code, seen.stdout.split()) == (ExitCode.DONE, ["0", "1", "2"])
    told = run_command("events", "--kinds", "topics", "--max", "2", "--json", *url)
    snapshot, topic = told.lines
    assert (snapshot["kind"], snapshot["reason"], topic["kind"]) == ("snapshot", "start", "topics")
    assert (topic["is"]["name"], topic["is"]["partitions"]) == ("orders", 8)
    shown = run_command("events", "-t", "orders", "--kinds", "topics", "--max", "1", *url)
    assert "topic orders" in shown.stdout
    wrong = run_command("events", "--kinds", "topic", *url)
    assert (wrong.exit_code, "Did you mean: topics" in wrong.stderr) == (ExitCode.USAGE, True)
    away = run_command("events", "--server", "http://127.0.0.1:9", "--timeout", "1")
    assert away.exit_code == ExitCode.SERVER_AWAY


def started(server: ServerProcess, *arguments: str) -> subprocess.Popen[str]:
    program = [sys.executable, "-m", "acklog.command", *arguments, "--server", server.base_url]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ACKLOG_")}
    return subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGTERM, ExitCode.DONE), (signal.SIGINT, ExitCode.INTERRUPTED)]
)
def test_signals_end_the_events_without_a_word(server: ServerProcess, number: int, exit_code: int) -> None:
    process = started(server, "events", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["kind"] == "snapshot"
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (exit_code, "")


def test_a_tail_without_a_place_asks_again_and_again(server: ServerProcess) -> None:
    server.send("orders", 0)
    with acklog.Client(server.base_url) as client, client.tail("orders") as one, client.tail("orders") as two:
        threads = [threading.Thread(target=lambda tail=tail: list(tail)) for tail in (one, two)]
        for thread in threads:
            thread.start()
        wait_until(
            lambda: (
                server.request("GET", "/topics/orders/tail").code == "TOO_MANY_WATCHERS"
                if 'acklog_streams{stream="tail"} 2' in server.request("GET", "/metrics").content.decode()
                else False
            ),
            seconds=30,
            what="all places are taken",
        )
        with pytest.raises(TooManyWatchers), client.tail("orders", first_contact_timeout_ms=0) as refused:
            next(refused)
        process = started(server, "tail", "orders")
        assert process.stdout is not None
        assert process.stderr is not None
        assert "as many streams as it may" in process.stderr.readline()
        server.send("orders", 1)
        assert process.stdout.readline() == "1\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
        assert process.returncode == ExitCode.INTERRUPTED
        for tail in (one, two):
            tail.close()
        for thread in threads:
            thread.join(30)


def test_rights_are_asked_with_each_connection(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"
    admin = "admin-token-0123456789"
    tokens.write_text(json.dumps({"tokens": [{"name": "admin", "token": admin, "roles": ["admin"]}]}))
    tokens.chmod(0o600)
    options = ("--events-interval-ms=100", "--tokens-file", str(tokens))
    headers = {"Authorization": f"Bearer {admin}"}
    with ServerProcess(tmp_path / "data", tmp_path / "log", options=options) as server:
        assert server.request("PUT", "/topics/seen", headers=headers).status == 201
        rights = [{"allow": ["look"], "topics": ["seen"]}]
        made = server.request("POST", "/tokens", {"name": "few", "rights": rights}, headers=headers)
        with acklog.Client(server.base_url, token=made.document["token"]) as few, few.events() as events:
            with pytest.raises(Forbidden):
                next(few.tail("seen"))
            assert [topic.name for topic in next(events).topics] == ["seen"]
            assert server.request("DELETE", "/tokens/few", headers=headers).status == 204
            with pytest.raises(Unauthenticated):
                list(events)

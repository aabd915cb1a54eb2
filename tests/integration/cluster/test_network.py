"""The links that tests cut know who connects, keep what they are to keep, and break what they are to break."""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.cuttable_network import HOST, Cut, CuttableNetwork
from tests.support.lasting_ports import lasting_ports
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

PATIENCE_S = 30
CLIENT = """
import socket, sys
if sys.argv[2] == "4":
    sent = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
else:
    sent = socket.socket(socket.AF_INET6)
    sent.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sent.connect(("::ffff:127.0.0.1", int(sys.argv[1])))
for line in sys.stdin:
    try:
        sent.sendall(line.encode())
        answer = sent.recv(100).decode() or "ended\\n"
    except OSError:
        answer = "ended\\n"
    print(answer, end="", flush=True)
"""


class Client:
    """A process with one connection: each line that it is told goes out, and the answer comes back."""

    def __init__(self, port: int, family: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(port), family],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def say(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip()

    def ask(self, text: str) -> str:
        self.say(text)
        return self.hear()


@contextmanager
def echoing() -> Iterator[tuple[int, list[str]]]:
    """A server's port, and what it has heard."""
    heard: list[str] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            heard.append(line.decode().rstrip())
            writer.write(line)
        writer.close()

    loop = asyncio.new_event_loop()
    [port] = lasting_ports(1)
    server = loop.run_until_complete(asyncio.start_server(echo, HOST, port))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield port, heard
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(PATIENCE_S)
        loop.close()


NO_IPV6 = pytest.mark.skipif(not Path("/proc/net/tcp6").exists(), reason="this machine has no IPv6")


@pytest.mark.parametrize("family", ["4", pytest.param("6", marks=NO_IPV6)])
def test_a_silent_link_keeps_what_is_said_until_it_is_mended(family: str) -> None:
    names: dict[int, str] = {}
    with echoing() as (target_port, heard), CuttableNetwork(lambda: names) as network:
        [port] = lasting_ports(1)
        network.listen("server", target_port, port)
        cut, other = Client(port, family), Client(port, family)
        names.update({cut.process.pid: "cut", other.process.pid: "other"})
        try:
            network.cut([("cut", "server")])
            cut.say("late")
            assert other.ask("at once") == "at once"
            assert heard == ["at once"]
            network.mend()
            assert cut.hear() == "late"
            network.cut([("cut", "server")])
            cut.say("later")
            assert other.ask("again") == "again"
            assert "later" not in heard
            network.mend()
            assert cut.hear() == "later"
        finally:
            cut.process.kill()
            other.process.kill()


def test_a_link_can_be_cut_in_one_direction() -> None:
    names: dict[int, str] = {}
    with echoing() as (target_port, heard), CuttableNetwork(lambda: names) as network:
        [port] = lasting_ports(1)
        network.listen("server", target_port, port)
        client, other = Client(port, "4"), Client(port, "4")
        names.update({client.process.pid: "cut", other.process.pid: "other"})
        try:
            assert client.ask("one") == "one"
            network.cut([("cut", "server")], Cut.BACK)
            client.say("two")
            wait_until(lambda: "two" in heard, seconds=PATIENCE_S, what="it arrives")
            network.mend()
            assert client.hear() == "two", "its answer was kept"
            network.cut([("cut", "server")], Cut.THERE)
            client.say("three")
            assert other.ask("four") == "four"
            assert "three" not in heard
            network.mend()
            assert client.hear() == "three"
        finally:
            client.process.kill()
            other.process.kill()


def test_a_broken_link_ends_its_connections_and_refuses_new_ones() -> None:
    names: dict[int, str] = {}
    with echoing() as (target_port, _), CuttableNetwork(lambda: names) as network:
        [port] = lasting_ports(1)
        network.listen("server", target_port, port)
        cut, other = Client(port, "4"), Client(port, "4")
        names.update({cut.process.pid: "cut", other.process.pid: "other"})
        try:
            assert (cut.ask("one"), other.ask("two")) == ("one", "two")
            network.cut([("cut", "server")], Cut.RESET)
            assert cut.ask("three") == "ended"
            assert other.ask("four") == "four"
            again = Client(port, "4")
            names[again.process.pid] = "cut"
            assert again.ask("five") == "ended"
            again.process.kill()
        finally:
            cut.process.kill()
            other.process.kill()


def test_where_nobody_listens_connections_are_refused_until_somebody_does() -> None:
    [port, target_port] = lasting_ports(2)

    def is_refused() -> bool:
        try:
            with socket.create_connection((HOST, port), timeout=PATIENCE_S) as connection:
                assert connection.recv(1) == b""
        except ConnectionRefusedError:
            return True
        except ConnectionResetError:
            pass
        return False

    with CuttableNetwork(dict) as network:
        network.listen("server", target_port, port)
        wait_until(is_refused, seconds=PATIENCE_S, what="a refusal")
        with socket.create_server((HOST, target_port)) as server:

            def is_reached() -> bool:
                with contextlib.suppress(ConnectionRefusedError):
                    socket.create_connection((HOST, port), timeout=PATIENCE_S).close()
                    return True
                return False

            wait_until(is_reached, seconds=PATIENCE_S, what="somebody behind the proxy")
            server.accept()[0].close()

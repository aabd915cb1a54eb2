"""A server of several processes: one storage, and gateways on one port."""

import asyncio
import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from tests.integration.conftest import ServerMaker
from tests.integration.traffic import Traffic
from tests.support.server_process import ServerProcess
from tests.support.server_workers import (
    GATEWAYS,
    OPTIONS,
    is_alive,
    kill_gateway,
    kill_worker,
    log_lines,
    pids,
    wait_until_all_serve,
)
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture
def server(make_server: ServerMaker) -> ServerProcess:
    return make_server(*OPTIONS).start()


def answered_by(server: ServerProcess) -> dict[str, int]:
    """How many requests for topics each gateway has answered, by the metrics of all."""
    counts: dict[str, int] = {}
    for line in server.request("GET", "/metrics").content.decode().splitlines():
        if line.startswith("acklog_http_requests_total{") and 'route="/topics"' in line:
            counts[line.split('worker="')[1].split('"')[0]] = int(float(line.rsplit(" ", 1)[1]))
    return counts


def test_a_message_goes_through_whichever_gateway(server: ServerProcess) -> None:
    """Every request is a connection of its own, so that the kernel deals them out."""
    wait_until_all_serve(server)
    for number in range(30):
        server.send("orders", {"order": number})
    taken = [message for _ in range(60) for message in server.receive("orders", max=1)]
    assert sorted(message["body"]["order"] for message in taken) == list(range(30))
    answers = [server.ack(message["receipt"]).document for message in taken]
    assert all("code" not in answer for answer in answers), answers
    assert server.receive("orders", waitSeconds=1) == []
    for _ in range(100):
        assert server.request("GET", "/topics").status == 200
    assert sorted(answered_by(server)) == GATEWAYS
    assert min(answered_by(server).values()) >= 10
    server.stop()


def test_what_one_gateway_changes_the_others_know(server: ServerProcess) -> None:
    """Each change is confirmed by whoever makes it, and asked for at once by whoever is asked next."""
    wait_until_all_serve(server)
    for number in range(10):
        assert server.request("PUT", f"/topics/t{number}", {"partitions": 2}).status == 201
        assert server.request("GET", f"/topics/t{number}").document["partitions"] == 2
    delayed = server.send("t0", "later", delaySeconds=1)
    assert delayed["offset"] is None
    [message] = server.receive("t0", waitSeconds=20)
    assert message["body"] == "later"
    console = server.request("GET", "/console")
    assert (console.status, b"<html" in console.content) == (200, True)
    cluster = server.request("GET", "/cluster").document
    assert (cluster["embedded"], len(cluster["nodes"])) == (True, 1)


def test_a_stream_of_one_gateway_tells_what_was_sent_through_others(server: ServerProcess) -> None:
    server.request("PUT", "/topics/orders", {"partitions": 1})
    told: list[bytes] = []

    def follow() -> None:
        with socket.create_connection((server.host, server.port), timeout=30) as connection:
            connection.sendall(b"GET /topics/orders/tail HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while b"number-9" not in b"".join(told):
                told.append(connection.recv(65536))

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    wait_until(lambda: b"200 OK" in b"".join(told), seconds=30, what="the stream")
    for number in range(10):
        server.send("orders", f"number-{number}")
    following.join(timeout=30)
    text = b"".join(told).decode()
    assert [number for number in range(10) if f"number-{number}" in text] == list(range(10))


def test_an_exclusive_group_shares_out_partitions_over_all_gateways(server: ServerProcess) -> None:
    wait_until_all_serve(server)
    server.request("PUT", "/topics/orders", {"partitions": 4})
    server.request("PUT", "/groups/ledger", {"mode": "exclusive"})
    for number in range(40):
        server.send("orders", number, partition=number % 4)
    taken: dict[str, set[int]] = {"one": set(), "two": set()}
    done: set[int] = set()

    def take(member: str) -> None:
        for message in server.receive("orders", "ledger", consumer=member, max=4, waitSeconds=1):
            taken[member].add(message["partition"])
            if server.ack(message["receipt"]).status == 200:
                done.add(message["body"])

    def is_done() -> bool:
        for member in taken:
            take(member)
        return len(done) == 40

    wait_until(is_done, seconds=60, what="all of it done")
    members = server.request("GET", "/groups/ledger/members").document["members"]
    owned = [sorted(place["partition"] for place in member["assignment"]) for member in members]
    assert sorted(partition for each in owned for partition in each) == [0, 1, 2, 3]
    assert [len(each) for each in owned] == [2, 2]


def test_a_gateway_that_is_killed_is_replaced(server: ServerProcess) -> None:
    wait_until_all_serve(server)
    before = server.send("orders", 1)
    for gateway in GATEWAYS:
        kill_gateway(server, gateway)
    wait_until_all_serve(server)
    assert server.send("orders", 2)["messageId"] != before["messageId"]
    ends = [(line["name"], line["how"]) for line in log_lines(server) if line["event"] == "worker_ended"]
    assert ends == [(gateway, "was killed by SIGKILL") for gateway in GATEWAYS]
    server.stop()


async def test_nothing_is_lost_with_a_gateway_under_load(make_server: ServerMaker) -> None:
    server = make_server(*OPTIONS).start()
    assert server.request("PUT", "/topics/orders", {"partitions": 4}).status == 201
    traffic = Traffic(server, "orders", partitions=4)
    async with traffic.running(producers=8, consumers=4):
        for kill, gateway in enumerate(GATEWAYS, 1):
            await traffic.acknowledged(kill * 100)
            await asyncio.to_thread(kill_gateway, server, gateway)
        await traffic.acknowledged(500)
    assert await traffic.judge() == []
    server.stop()


async def test_a_stop_under_load_answers_what_is_under_way(make_server: ServerMaker) -> None:
    server = make_server(*OPTIONS).start()
    assert server.request("PUT", "/topics/orders", {"partitions": 4}).status == 201
    traffic = Traffic(server, "orders", partitions=4)
    async with traffic.running(producers=8, consumers=4):
        await traffic.acknowledged(200)
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        await traffic.acknowledged(traffic.acknowledged_sends + 100)
    assert await traffic.judge() == []
    recovered = [line for line in log_lines(server) if line["event"] == "logs_recovered"]
    assert [line["was_clean"] for line in recovered] == [True]


def test_the_end_of_the_storage_is_the_end_of_all(make_server: ServerMaker) -> None:
    server = make_server(*OPTIONS).start()
    sent = server.send("orders", 1)
    kill_worker(server, "storage")
    assert server.wait() == 1
    assert "The storage process was killed by SIGKILL. All of the server has ended with it." in server.output()
    assert not any(is_alive(pids(server, gateway)[-1]) for gateway in GATEWAYS)
    server.start()
    [message] = server.receive("orders")
    assert message["messageId"] == sent["messageId"]
    server.stop()


def test_workers_end_with_their_supervisor(make_server: ServerMaker) -> None:
    server = make_server(*OPTIONS).start()
    workers = [pids(server, worker)[-1] for worker in ("storage", *GATEWAYS)]
    server.kill()
    wait_until(lambda: not any(is_alive(pid) for pid in workers), seconds=60, what="the end of all workers")


def test_workers_heed_no_signals_but_those_of_their_supervisor(server: ServerProcess) -> None:
    """As a service manager may send them to all at once."""
    workers = [pids(server, worker)[-1] for worker in ("storage", *GATEWAYS)]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        for pid in workers:
            os.kill(pid, number)
    server.send("orders", 1)
    assert all(is_alive(pid) for pid in workers)
    server.stop()


def test_a_reload_reaches_every_gateway_and_those_that_come_later(make_server: ServerMaker, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.json"

    def allow(token: str) -> None:
        entry = {"token": token, "name": token, "rights": [{"allow": ["look"], "topics": ["*"]}]}
        tokens.write_text(json.dumps({"tokens": [entry]}))

    def answers_of(token: str) -> set[int]:
        headers = {"Authorization": f"Bearer {token}"}
        return {server.request("GET", "/topics", headers=headers).status for _ in range(20)}

    allow("first-token-that-is-long-enough")
    server = make_server(*OPTIONS, "--tokens-file", str(tokens)).start()
    assert answers_of("first-token-that-is-long-enough") == {200}
    allow("second-token-that-is-long-enough")
    server.signal(signal.SIGHUP)

    def reloaded() -> set[str]:
        return {line["worker"] for line in log_lines(server) if line["event"] == "reloaded"}

    wait_until(lambda: reloaded() == {"supervisor", "storage", *GATEWAYS}, seconds=30, what="a reload everywhere")
    allow("third-token-that-nobody-has-been-told-of")
    kill_gateway(server, "gateway-1")
    assert answers_of("second-token-that-is-long-enough") == {200}
    assert answers_of("first-token-that-is-long-enough") == {401}
    assert answers_of("third-token-that-nobody-has-been-told-of") == {401}
    server.stop()


def test_a_reload_that_is_refused_changes_nothing_anywhere(make_server: ServerMaker, tmp_path: Path) -> None:
    """Nor for a gateway that is started later: it goes on with what the server had."""
    tokens, configuration = tmp_path / "tokens.json", tmp_path / "acklog.toml"
    rights = [{"allow": ["look"], "topics": ["*"], "groups": ["*"], "cluster": True}]
    tokens.write_text(json.dumps({"tokens": [{"token": "a-token-that-is-long-enough", "name": "a", "rights": rights}]}))
    configuration.write_text("")
    server = make_server(*OPTIONS, "--tokens-file", str(tokens), "--config", str(configuration)).start()
    tokens.write_text("{")
    configuration.write_text('[serve]\nlog_level = "warning"\n')
    server.signal(signal.SIGHUP)

    def said(event: str) -> list[str]:
        return [line["worker"] for line in log_lines(server) if line["event"] == event]

    wait_until(lambda: bool(said("reload_refused")), seconds=30, what="a reload that is refused")
    kill_gateway(server, "gateway-1")
    headers = {"Authorization": "Bearer a-token-that-is-long-enough"}

    def is_back() -> bool:
        return b'acklog_worker_up{worker="gateway-1"} 1' in server.request("GET", "/metrics", headers=headers).content

    wait_until(is_back, seconds=30, what="the gateway that was killed")
    assert {server.request("GET", "/topics", headers=headers).status for _ in range(20)} == {200}
    assert said("reload_refused") == ["supervisor"]
    assert said("reloaded") == []
    server.stop()


def test_a_gateway_that_comes_too_late_for_a_reload_starts_anew_with_it(
    make_server: ServerMaker, tmp_path: Path
) -> None:
    """It cannot read any more what the others have, and would let in whom they do not."""
    tokens = tmp_path / "tokens.json"
    rights = [{"allow": ["look"], "topics": ["*"]}]
    staying, leaving = ({"token": f"{name}-token-that-is-long-enough", "name": name, "rights": rights} for name in "ab")
    tokens.write_text(json.dumps({"tokens": [staying, leaving]}))
    server = make_server(*OPTIONS, "--tokens-file", str(tokens)).start()
    late = pids(server, "gateway-2")[-1]
    os.kill(late, signal.SIGSTOP)
    tokens.write_text(json.dumps({"tokens": [staying]}))
    server.signal(signal.SIGHUP)
    in_time = {"supervisor", "storage", "gateway-1", "gateway-3"}
    wait_until(
        lambda: {line["worker"] for line in log_lines(server) if line["event"] == "reloaded"} == in_time,
        seconds=30,
        what="a reload of all others",
    )
    tokens.write_text("{")
    os.kill(late, signal.SIGCONT)
    wait_until(lambda: pids(server, "gateway-2")[-1] != late and not is_alive(late), seconds=30, what="another one")

    def answers_of(entry: dict[str, object]) -> set[int]:
        headers = {"Authorization": f"Bearer {entry['token']}"}
        return {server.request("GET", "/topics", headers=headers).status for _ in range(20)}

    assert answers_of(staying) == {200}
    assert answers_of(leaving) == {401}
    server.stop()


def test_a_second_server_is_refused(server: ServerProcess, make_server: ServerMaker, tmp_path: Path) -> None:
    other = make_server(*OPTIONS)
    other.launch()
    assert other.wait() == 1
    assert f"Another server uses the data directory {server.data_directory}." in other.output()
    taken = make_server(*OPTIONS, "--port", str(server.port), data_directory=tmp_path / "elsewhere")
    taken.launch()
    assert taken.wait() == 2
    assert f"Cannot listen on 127.0.0.1:{server.port}" in taken.output()
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("number", ["-1", "65"])
def test_as_many_workers_as_there_may_be(make_server: ServerMaker, number: str) -> None:
    refused = make_server("--workers", number)
    refused.launch()
    assert refused.wait() == 2
    assert f"--workers is {number}, it may be 0 to 64" in refused.output()


@pytest.mark.parametrize("number", ["0", "1"])
def test_one_process_stays_one(make_server: ServerMaker, number: str) -> None:
    with make_server("--workers", number) as server:
        server.send("orders", 1)
        assert pids(server, "storage") == []
        assert "worker=" not in server.request("GET", "/metrics").content.decode()
        assert not (server.data_directory / "workers").exists()
        server.stop()


def test_a_gateway_that_cannot_start_ends_the_start(make_server: ServerMaker, tmp_path: Path) -> None:
    certificate = tmp_path / "certificate.pem"
    certificate.write_text("no certificate")
    server = make_server(*OPTIONS, "--tls-certificate-file", str(certificate), "--tls-key-file", str(certificate))
    server.launch()
    assert server.wait() == 1
    assert "before it served. All of the server has ended with it." in server.output()
    assert "Acklog listens on" not in server.output()

"""A local cluster's parts: the layout, the command lines, who is kept alive, what is shown. Processes here are small
stand-ins; the real ones run in `tests/integration/cluster`."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from acklog.command.plain_view import plain_text
from app.local_cluster.cluster_process import ClusterProcess, Kind, Life
from app.local_cluster.cluster_view import change_text, cluster_table, state_text
from app.local_cluster.condition import Condition, Examiner, resident_bytes
from app.local_cluster.etcd_program import EtcdMissingError, cache_directory, find_etcd
from app.local_cluster.keeper import Keeper, KeeperSettings
from app.local_cluster.layout import FILE, LayoutError, make_layout
from app.local_cluster.local_cluster import LocalCluster, LocalClusterOptions
from app.local_cluster.server_process import ServerFailedError, ServerProcess, free_ports

READY = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.answer(b"acklog_partitions_led 3\\nacklog_controller 1\\nacklog_node_registered 0\\n")
    def do_POST(self):
        self.answer(b'{"header":{"member_id":"7"},"leader":"7"}')
    def log_message(self, *arguments): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def member(tmp_path: Path, kind: Kind = Kind.NODE, program: str = READY) -> ClusterProcess:
    [port] = free_ports(1)
    process = ServerProcess([sys.executable, "-c", program, str(port)], port, tmp_path / "logs" / "log")
    return ClusterProcess(kind, 1, process, f"127.0.0.1:{port + 1}")


class TestLayout:
    def test_ports_are_remembered_and_more_nodes_are_added(self, tmp_path: Path) -> None:
        first = make_layout(tmp_path, etcd=3, nodes=2)
        assert len({port for place in first.etcd for port in (place.client_port, place.peer_port)}) == 6
        assert make_layout(tmp_path, etcd=3, nodes=2) == first
        more = make_layout(tmp_path, etcd=3, nodes=3)
        assert (more.etcd, more.nodes[:2], len(more.nodes)) == (first.etcd, first.nodes, 3)
        assert make_layout(tmp_path, etcd=3, nodes=1) == more, "fewer are started, none is forgotten"

    def test_another_number_of_etcd_members_is_another_cluster(self, tmp_path: Path) -> None:
        make_layout(tmp_path, etcd=1, nodes=1)
        with pytest.raises(LayoutError, match="1 etcd members, not 3: give as many, or another --data-dir"):
            make_layout(tmp_path, etcd=3, nodes=1)

    def test_a_damaged_layout_is_named(self, tmp_path: Path) -> None:
        (tmp_path / FILE).write_text("{}")
        with pytest.raises(LayoutError, match=r"layout\.json is not what was written"):
            make_layout(tmp_path, etcd=1, nodes=1)


class TestCommandLines:
    def test_every_process_knows_its_own_and_etcd(self, tmp_path: Path) -> None:
        options = LocalClusterOptions(nodes=2, gateways=2, etcd_members=3, gateway_port=8080)
        cluster = LocalCluster(tmp_path, Path("etcd"), options)
        assert [each.name for each in cluster.members] == [
            *("etcd 1", "etcd 2", "etcd 3", "node 1", "node 2", "gateway 1", "gateway 2")
        ]
        etcd = cluster.of_kind(Kind.ETCD)
        endpoints = ",".join(each.process.url for each in etcd)
        assert f"--initial-cluster=etcd-1=http://127.0.0.1:{cluster._layout.etcd[0].peer_port}," in " ".join(
            etcd[1].process.command
        )
        node = cluster.of_kind(Kind.NODE)[1]
        command = list(node.process.command)
        assert command[1:5] == ["-P", "-m", "acklog.command", "node"]
        told = dict(zip(command[5::2], command[6::2], strict=True))
        assert (told["--id"], told["--etcd"], told["--listen"]) == ("2", endpoints, node.address)
        assert told["--http"] == f"127.0.0.1:{node.process.port}"
        assert cluster.gateway_urls == ["http://127.0.0.1:8080", "http://127.0.0.1:8081"]

    def test_gateways_get_free_ports_of_their_own(self, tmp_path: Path) -> None:
        cluster = LocalCluster(tmp_path, Path("etcd"), LocalClusterOptions(gateways=3))
        assert len(set(cluster.gateway_urls)) == 3


class TestEtcdProgram:
    def test_the_one_that_is_named(self, tmp_path: Path) -> None:
        assert find_etcd(tmp_path, named=sys.executable) == Path(sys.executable)
        with pytest.raises(EtcdMissingError, match="there is no program nowhere"):
            find_etcd(tmp_path, named="nowhere")

    def test_one_that_was_fetched_before(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        binary = tmp_path / "unpacked" / "usr" / "bin" / "etcd"
        binary.parent.mkdir(parents=True)
        binary.touch()
        assert find_etcd(tmp_path) == binary

    def test_where_none_can_be_had(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        with pytest.raises(EtcdMissingError, match="etcd is not installed, and apt-get is not here"):
            find_etcd(tmp_path / "cache")

    def test_the_cache_is_the_users(self) -> None:
        assert cache_directory({"XDG_CACHE_HOME": "caches"}) == Path("caches/acklog/etcd")
        assert cache_directory({}).parts[-3:] == (".cache", "acklog", "etcd")


class TestKeeper:
    def cluster(self, tmp_path: Path, *members: ClusterProcess) -> tuple[LocalCluster, list[str]]:
        told: list[str] = []
        options = LocalClusterOptions(nodes=1, gateways=1)
        cluster = LocalCluster(tmp_path, Path("etcd"), options, tell=lambda member: told.append(state_text(member)))
        cluster.members = list(members)
        return cluster, told

    async def test_what_is_killed_is_started_again(self, tmp_path: Path) -> None:
        kept = member(tmp_path)
        cluster, told = self.cluster(tmp_path, kept)
        await cluster.start()
        keeping = asyncio.create_task(Keeper(cluster, KeeperSettings(pause_s=0)).run())
        first_pid = kept.process.pid
        async with asyncio.timeout(30):
            os.kill(first_pid, signal.SIGKILL)
            while kept.restarts == 0 or kept.life is not Life.READY:
                await asyncio.sleep(0.01)
        assert kept.process.pid != first_pid
        assert told == ["starting", "ready", "killed by signal 9", "starting", "ready"]
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        await cluster.stop()
        assert told[-2:] == ["stopping", "stopped"]

    async def test_what_ends_at_every_start_is_given_up(self, tmp_path: Path) -> None:
        kept = member(tmp_path)
        cluster, told = self.cluster(tmp_path, kept)
        await cluster.start()
        kept.process.command = [sys.executable, "-c", "raise SystemExit(3)"]
        keeper = Keeper(cluster, KeeperSettings(pause_s=0, failures_max=2))
        keeping = asyncio.create_task(keeper.run())
        os.kill(kept.process.pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            await keeping
        assert (kept.life, kept.restarts) == (Life.GIVEN_UP, 2)
        assert told[2:] == ["killed by signal 9", *("starting", "ended with 3") * 2, "given up"]
        await cluster.stop()

    async def test_a_start_that_fails_is_one_failure_with_its_log(self, tmp_path: Path) -> None:
        broken = member(tmp_path, program="raise SystemExit('it cannot be')")
        cluster, _ = self.cluster(tmp_path, broken, member(tmp_path))
        with pytest.raises(ServerFailedError, match="it cannot be"):
            await cluster.start()
        await cluster.stop()


class TestCondition:
    async def test_members_are_asked_how_they_are(self, tmp_path: Path) -> None:
        node, etcd, away = member(tmp_path), member(tmp_path, Kind.ETCD), member(tmp_path)
        for each in (node, etcd):
            await each.process.start()
            each.life = Life.READY
        examiner = Examiner()
        conditions = await examiner.examine([node, etcd, away])
        assert conditions[0].role == "leads 3, controller, not registered"
        assert (conditions[0].partitions_led, conditions[0].is_controller) == (3, True)
        assert (conditions[1].role, conditions[1].is_etcd_leader) == ("leader", True)
        assert conditions[2] == Condition()
        assert (conditions[0].memory_bytes or 0) > 1_000_000
        await etcd.process.kill()
        assert await examiner.examine_one(etcd) == Condition(), "killed a moment ago"
        await examiner.close()
        await node.process.stop()

    def test_a_process_that_is_gone_has_no_memory(self) -> None:
        assert resident_bytes(2**22 + 1) is None


class TestView:
    def test_the_table_tells_who_is_how(self, tmp_path: Path) -> None:
        killed = member(tmp_path, Kind.ETCD)
        killed.life, killed.ended_with, killed.restarts = Life.ENDED, -9, 2
        table = cluster_table([killed], [Condition("leader", memory_bytes=50 << 20)])
        lines = plain_text(table).splitlines()
        assert lines[0].split() == ["PROCESS", "STATE", "PID", "ADDRESS", "ROLE", "MEMORY", "RESTARTS"]
        assert lines[1].split() == [
            "etcd",
            "1",
            "killed",
            "by",
            "signal",
            "9",
            killed.address,
            "leader",
            "50",
            "MiB",
            "2",
        ]
        assert change_text(killed) == f"etcd 1: killed by signal 9, its log: {killed.process.log_path}"
        killed.ended_with = 3
        assert state_text(killed) == "ended with 3"

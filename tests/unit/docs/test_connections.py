"""docs/connections.md gives the numbers that the code has."""

import re

from cluster.model.needed_protocol import (
    PROTOCOL_OF_DELAYS,
    PROTOCOL_OF_DELETIONS,
    PROTOCOL_OF_ENCRYPTION,
    PROTOCOL_OF_ENDLESS_RETRIES,
    PROTOCOL_OF_FAIR_HEADERS,
    PROTOCOL_OF_FILTERS,
    PROTOCOL_OF_HAND_OVERS,
    PROTOCOL_OF_MAPPING_STARTS,
    PROTOCOL_OF_NAMESPACES,
    PROTOCOL_OF_PRODUCERS,
    PROTOCOL_OF_QUOTAS,
    PROTOCOL_OF_RECURRING,
    PROTOCOL_OF_REDRIVES,
    PROTOCOL_OF_RESTORES,
    PROTOCOL_OF_TOPIC_DELAYS,
    PROTOCOL_OF_TTL,
)
from storage.node.replicas.failure_detector import FailureDetectorSettings
from storage.node.replicas.fetch_sessions import RETRY_GROWTH_MAX
from storage.node.replicas.peer_directory import PEER_CLIENT
from storage.replication.replication_settings import ReplicationSettings
from storage.rpc import framing, handshake, methods
from storage.rpc.rpc_settings import RpcClientSettings, RpcServerSettings
from tests.unit.docs.documents import REPOSITORY

DOCUMENT = re.sub(r"\s+", " ", (REPOSITORY / "docs/connections.md").read_text())


def test_the_frame() -> None:
    assert f"magic 0x{framing.MAGIC:02X}" in DOCUMENT
    assert f"version of this layout: {framing.VERSION}" in DOCUMENT
    kinds = ", ".join(f"{kind.value} {kind.name.lower()}" for kind in framing.FrameKind)
    assert f"kind: {kinds}" in DOCUMENT
    assert f"| {framing.HEADER_BYTES} | | body" in DOCUMENT


def test_the_calls() -> None:
    names = ", ".join(f"`{method.name}`" for method in methods.NODE_METHODS.values())
    numbers = list(methods.NODE_METHODS)
    assert f"| {min(numbers)} to {max(numbers)} | {names} |" in DOCUMENT
    for method in (*methods.PEER_METHODS.values(), methods.HELLO):
        assert f"| {method.number} | `{method.name}` |" in DOCUMENT


def test_the_versions() -> None:
    brought_by_5 = {PROTOCOL_OF_PRODUCERS, PROTOCOL_OF_FILTERS, PROTOCOL_OF_DELAYS, PROTOCOL_OF_MAPPING_STARTS}
    assert brought_by_5 == {5}
    brought_by_6 = {PROTOCOL_OF_REDRIVES, PROTOCOL_OF_RECURRING, PROTOCOL_OF_TTL, PROTOCOL_OF_QUOTAS}
    assert brought_by_6 == {6}
    brought_by_7 = {PROTOCOL_OF_TOPIC_DELAYS, methods.COMPACT.since, methods.LATEST.since}
    assert brought_by_7 == {7}
    assert {PROTOCOL_OF_FAIR_HEADERS, PROTOCOL_OF_HAND_OVERS, methods.ADOPT.since} == {8}
    assert PROTOCOL_OF_NAMESPACES == 9
    assert PROTOCOL_OF_ENCRYPTION == 9
    assert PROTOCOL_OF_ENDLESS_RETRIES == 10
    assert (handshake.OLDEST_VERSION, handshake.NEWEST_VERSION) == (1, PROTOCOL_OF_RESTORES) == (1, 11)
    assert methods.COPY.since == PROTOCOL_OF_RESTORES
    assert methods.DELETE.since == PROTOCOL_OF_DELETIONS
    assert (methods.KNOWN_KEYS.since, methods.REPLICA_REPORT.since, methods.MEMBERS.since) == (2, 3, 4)
    in_4 = "`heartbeat`, `members`, `commit`, `blocked` and groups of all modes"
    in_5 = "named producers, `delete`, filters, groups that say each delay of a retry, messages that are seen later, "
    in_5 += "and leaders that say where a topic's mapping begins"
    in_6 = "leaders that send dead letters back, recurring schedules, messages that live for some time only, "
    in_6 += "and `quota_shares`"
    in_7 = "topics that say when their messages are seen, `compact` and `latest`"
    in_8 = "groups that are fair among the values of a header, and `adopt`"
    in_9 = "topics and groups in namespaces, and topics that are encrypted"
    in_10 = "groups whose messages come back for ever"
    brought = f"2 brought `known_keys`, 3 `replica_report`, 4 {in_4}, 5 {in_5}, 6 {in_6}, 7 {in_7}, 8 {in_8}, 9 {in_9}"
    in_11 = "topics that are restored from a backup, and `copy`."
    assert f"Today there are the versions 1 to 11; {brought}, 10 {in_10}, 11 {in_11}" in DOCUMENT


def test_the_limits() -> None:
    client, server = RpcClientSettings(), RpcServerSettings()
    for requests, size_bytes in (
        (client.in_flight_requests_max, client.in_flight_bytes_max),
        (server.requests_per_connection_max, server.request_bytes_per_connection_max),
    ):
        assert f"| {requests:,}, and {size_bytes >> 20} MiB |" in DOCUMENT
    hello_s, hello_kib = server.hello_timeout_ms // 1000, framing.HELLO_FRAME_BYTES_MAX >> 10
    strangers = f"| {server.strangers_max}, {hello_s} s, and {hello_kib} KiB a frame |"
    assert f"connections to a node that have not introduced themselves {strangers}" in DOCUMENT
    gateways = (
        f"| {server.gateway_connections_max:,} | one that asked nothing for {server.idle_ms // 1000} s makes room"
    )
    assert f"connections of gateways to a node {gateways}" in DOCUMENT
    assert f"connections of nodes to a node | {server.node_connections_max:,} |" in DOCUMENT
    dial_s = (client.dial_timeout_ms // 1000, PEER_CLIENT.dial_timeout_ms // 1000)
    assert "{} s; between nodes {} s | unavailable".format(*dial_s) in DOCUMENT
    pauses = (client.backoff_min_ms, client.backoff_max_ms // 1000, PEER_CLIENT.backoff_max_ms // 1000)
    assert "{} ms, doubling to {} s; between nodes to {} s".format(*pauses) in DOCUMENT
    answers = (client.request_timeout_ms // 1000, PEER_CLIENT.request_timeout_ms // 1000)
    assert "{} s beyond what the request itself may wait; between nodes {} s".format(*answers) in DOCUMENT


def test_the_times_between_nodes() -> None:
    replication = ReplicationSettings()
    longest_s = replication.retry_ms * RETRY_GROWTH_MAX / 1000
    assert f"after {replication.retry_ms} ms, doubling to {longest_s} s" in DOCUMENT
    idle_s = 10 * (replication.fetch_wait_ms + replication.fetch_answer_timeout_ms) // 1000
    assert f"until nothing was fetched for {idle_s} s" in DOCUMENT
    suspicion = FailureDetectorSettings().suspicion
    assert suspicion.tries == 3
    assert f"three times, {suspicion.try_timeout_ms} ms each" in DOCUMENT
    assert suspicion.declarations_window_ms == 60_000
    assert f"more than {suspicion.declarations_max} nodes in a minute" in DOCUMENT

"""The settings of a server process: read in one place, checked once, printed without secrets."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from acklog.wire import limits
from app.configuration.jwt_options import JWT_GROUPS, JwtOptions
from app.configuration.master_key_options import MASTER_KEY_GROUPS, MasterKeyOptions
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import (
    ENVIRONMENT_PREFIX,
    NODE_PREFIX,
    SettingSources,
    check_fields,
    number,
    option_of,
    switch,
    text,
    texts,
    where_to_set,
)
from app.configuration.sqs_settings import check_sqs
from app.configuration.tls_options import TLS_GROUPS, TlsOptions
from app.configuration.trace_options import TRACE_GROUPS, TraceOptions
from app.configuration.web_origins import check_web_origins
from app.configuration.worker_options import WORKER_GROUPS, WorkerOptions

__all__ = ["ENVIRONMENT_PREFIX", "NODE_PREFIX", "SERVE", "Settings", "option_of", "option_parser"]

_MIB = 1024 * 1024
_GIB = 1024 * _MIB

AUDIT_MODES = frozenset({"", "off", "on", "required"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting has a default, an environment variable (ACKLOG_PORT) and a command-line option (--port)."""

    host: str = text("127.0.0.1", "address to listen on")
    port: int = number(8080, 0, 65_535, "port to listen on; 0 picks a free one")
    data_dir: str = text("./data", "where the embedded server keeps everything")
    tokens_file: str = text("", "file of bearer tokens (JSON or TOML); empty: no authentication")
    require_tokens: bool = switch(False, "want a token of everybody, also without a tokens file: a stored one")
    rights_dry_run: bool = switch(False, "let through what a token has no right to, and say so in the log and a metric")
    insecure: bool = switch(False, "listen on other machines' networks without a tokens file")
    allowed_hosts: str = texts(
        "",
        "names under which the server may be called, separated by commas, * for any; empty: without tokens on a "
        "loopback address those of loopback, else any",
    )
    cors_origins: str = texts(
        "",
        "origins of web pages that may call the server (https://shop.example), separated by commas, * for any where "
        "tokens are asked for; empty: its own pages only",
    )
    no_console: bool = switch(False, "do not serve the web console")
    no_sqs: bool = switch(False, "do not answer the calls of SQS")
    sqs_account: str = text("000000000000", "account in the URLs and ARNs of SQS's queues: 12 digits")
    sqs_region: str = text("us-east-1", "region in the ARNs of SQS's queues")
    public_url: str = text(
        "",
        "where clients find the server (https://queue.example.com): what SQS's queues' URLs begin with; empty: as each "
        "client has called it",
    )
    log_level: str = text("info", "debug, info, warning or error")

    audit: str = text(
        "",
        "what is recorded of administrative acts and refusals: off, on, or required (an act is not done that cannot be "
        "recorded); empty: on where tokens are asked for, else off",
    )
    audit_timeout_ms: int = number(5_000, 10, 600_000, "how long an administrative act waits for its record")
    audit_retention_ms: int = number(
        90 * 24 * 3_600_000, -1, 100 * 365 * 24 * 3_600_000, "how long records are kept; -1: for ever"
    )
    audit_retention_bytes: int = number(_GIB, -1, 1 << 50, "bytes of records that are kept; -1: no limit")
    audit_waiting_bytes_max: int = number(
        16 * _MIB, _MIB, 1 << 40, "bytes of records that wait while none can be stored; beyond it they are lost"
    )
    audit_refusals_in_full_max: int = number(
        10,
        0,
        100_000,
        "refusals of one principal, address and code per interval that have a record each; more are a sum",
    )
    audit_refusal_interval_ms: int = number(60_000, 100, 86_400_000, "how long refusals are summed up")
    audit_refusal_kinds_max: int = number(
        1_000, 1, 1_000_000, "principals, addresses and codes that are told apart in an interval; the rest is one sum"
    )

    auto_create_topics: bool = switch(True, "a send to an unknown topic creates it")
    auto_create_groups: bool = switch(True, "a receive by an unknown group creates it")
    auto_topics_max: int = number(
        1_000, 0, 1_000_000, "topics of the server up to which sends create them; beyond it they are made by hand"
    )
    auto_groups_max: int = number(1_000, 0, 1_000_000, "groups of the server up to which receives create them")
    auto_topics_per_token_max: int = number(
        200, 0, 1_000_000, "topics that the sends of one token create, of those that exist, since the start"
    )
    auto_groups_per_token_max: int = number(200, 0, 1_000_000, "groups that the receives of one token create, likewise")
    partitions_default: int = number(
        limits.PARTITIONS_DEFAULT, 1, limits.PARTITIONS_MAX, "partitions of a topic that is created without a number"
    )
    encrypt_topics: bool = switch(False, "topics that are created, and do not say whether, are encrypted")

    request_timeout_ms: int = number(10_000, 10, 600_000, "deadline of a request, waiting for messages not counted")
    catalog_confirm_timeout_ms: int = number(
        2_000, 10, 600_000, "how long the coordination store is asked for what a gateway has not heard of"
    )
    rack: str = text("", "what fails together with this gateway: readFrom=nearest asks a node of the same rack")
    replica_read_timeout_ms: int = number(
        800, 10, 600_000, "how long a replica has for readFrom=nearest before the next one is asked"
    )
    body_timeout_ms: int = number(30_000, 10, 600_000, "how long a request body may take to arrive")
    header_timeout_ms: int = number(10_000, 10, 600_000, "how long a request's headers may take to arrive")
    write_timeout_ms: int = number(60_000, 10, 600_000, "how long a client may take to read an answer")
    keep_alive_ms: int = number(75_000, 1000, 3_600_000, "how long an idle connection is kept open")
    header_bytes_max: int = number(32 * 1024, 1024, _MIB, "bytes of all headers of one request")
    url_bytes_max: int = number(16 * 1024, 256, _MIB, "bytes of a request's path and query")
    pipelined_requests_max: int = number(64, 1, 10_000, "requests that one connection may have queued")
    connections_max: int = number(20_000, 1, 1_000_000, "open connections; further ones are closed")

    request_bytes_in_flight_max: int = number(
        256 * _MIB, limits.REQUEST_BODY_BYTES_MAX, 1 << 40, "bytes of all request bodies being handled"
    )
    settlement_bytes_in_flight_max: int = number(
        32 * _MIB, _MIB, 1 << 40, "the same for /ack, /nack and /extend, which have an allowance of their own"
    )
    request_bytes_share_percent: int = number(
        50, 1, 100, "how much of these one token may hold at most, and bodies of which a part has yet to come"
    )
    waiting_requests_max: int = number(10_000, 1, 1_000_000, "requests that wait for messages at a time")
    waiting_requests_share_percent: int = number(80, 1, 100, "how much of these one token may have at most")
    events_interval_ms: int = number(1_000, 100, 10_000, "how often streams of events are told what has changed")
    events_watchers_max: int = number(1_000, 0, 100_000, "streams of events at a time")
    tails_max: int = number(200, 0, 100_000, "streams of a topic's messages at a time")
    coalesced_messages_max: int = number(2_000, 1, limits.REQUEST_MESSAGES_MAX, "single messages in a shared batch")
    coalesced_bytes_max: int = number(
        4 * _MIB, limits.MESSAGE_BODY_BYTES_MAX, limits.REQUEST_BODY_BYTES_MAX, "bytes of a shared batch"
    )
    coalesced_batches_in_flight_max: int = number(
        2, 1, 1_000, "shared batches of a partition under way, before the next one waits and grows"
    )
    coalescing_wait_ms: int = number(
        8,
        0,
        1_000,
        "how long single messages wait at most for those before them, of the same node or without a key, to come back",
    )
    keyless_batches_in_flight_max: int = number(
        1_000, 1, 100_000, "shared batches of a topic's messages without a key under way, before the next one waits"
    )
    keyless_topics_max: int = number(10_000, 1, 1_000_000, "topics whose balance of keyless messages is remembered")
    send_rounds_max: int = number(4, 1, 100, "times a keyed batch is sent again without the messages known already")
    shown_ends_max: int = number(
        100_000, 1, 10_000_000, "partitions of which is remembered how far they were shown to readers"
    )
    metric_names_max: int = number(100, 1, 10_000, "topics and groups with metrics of their own; the rest is 'other'")

    def __post_init__(self) -> None:
        check_fields(self)
        if self.log_level not in {"debug", "info", "warning", "error"}:
            raise SettingsError(f"log_level is {self.log_level!r}, it may be debug, info, warning or error")
        if self.audit not in AUDIT_MODES:
            raise SettingsError(f"audit is {self.audit!r}, it may be off, on, required, or empty")
        if not self.data_dir.strip():
            raise SettingsError(f"data_dir is empty, it must name a directory ({where_to_set('data_dir')})")
        check_sqs(account=self.sqs_account, region=self.sqs_region, public_url=self.public_url)
        check_web_origins(self.cors_origins, asks_for_tokens=bool(self.tokens_file) or self.require_tokens)

    def adopt(self, values: Mapping[str, object]) -> None:
        """Take other values, which have been checked, while the server runs (`app.configuration.reloading`): whoever
        reads them where they are used goes by them from then on. Nothing else changes settings."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def load(cls, environment: Mapping[str, str], arguments: Sequence[str] = ()) -> "Settings":
        """Of `acklog serve`: from the environment, overridden by command-line options. Raises SettingsError."""
        return SERVE.load(environment, arguments).make(cls)

    def describe(self) -> dict[str, object]:
        """What may be printed at the start: no setting holds a secret itself, only files that do are named."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


SERVER_GROUPS = {
    "Where it listens, and who may call": (
        "host",
        "port",
        "tokens_file",
        "require_tokens",
        "rights_dry_run",
        "insecure",
        "allowed_hosts",
        "cors_origins",
        "no_console",
        "public_url",
        "rack",
    ),
    "Calls of SQS": ("no_sqs", "sqs_account", "sqs_region"),
    "What it keeps, and what it says": ("data_dir", "log_level", "metric_names_max"),
    "What is recorded of administration and refusals": (
        "audit",
        "audit_timeout_ms",
        "audit_retention_ms",
        "audit_retention_bytes",
        "audit_waiting_bytes_max",
        "audit_refusals_in_full_max",
        "audit_refusal_interval_ms",
        "audit_refusal_kinds_max",
    ),
    "What is created by itself": (
        "auto_create_topics",
        "auto_create_groups",
        "auto_topics_max",
        "auto_groups_max",
        "auto_topics_per_token_max",
        "auto_groups_per_token_max",
        "partitions_default",
        "encrypt_topics",
    ),
    "How long things may take": (
        "request_timeout_ms",
        "catalog_confirm_timeout_ms",
        "replica_read_timeout_ms",
        "body_timeout_ms",
        "header_timeout_ms",
        "write_timeout_ms",
        "keep_alive_ms",
    ),
    "How much there may be": (
        "header_bytes_max",
        "url_bytes_max",
        "pipelined_requests_max",
        "connections_max",
        "request_bytes_in_flight_max",
        "settlement_bytes_in_flight_max",
        "request_bytes_share_percent",
        "waiting_requests_max",
        "waiting_requests_share_percent",
        "shown_ends_max",
    ),
    "Streams of events and of messages": ("events_interval_ms", "events_watchers_max", "tails_max"),
    "How messages are put together": (
        "coalesced_messages_max",
        "coalesced_bytes_max",
        "coalesced_batches_in_flight_max",
        "coalescing_wait_ms",
        "keyless_batches_in_flight_max",
        "keyless_topics_max",
        "send_rounds_max",
    ),
}
"""Settings by what they are about, as the help and the documentation show them."""

SERVE = SettingSources(
    program="acklog serve",
    kinds=(Settings, WorkerOptions, TlsOptions, JwtOptions, MasterKeyOptions, TraceOptions),
    groups=SERVER_GROUPS | WORKER_GROUPS | TLS_GROUPS | JWT_GROUPS | MASTER_KEY_GROUPS | TRACE_GROUPS,
)


def option_parser() -> argparse.ArgumentParser:
    return SERVE.parser()

"""The targets by name. Each is loaded when it is needed: whoever measures coverage instruments what that imports."""

from importlib import import_module

from tests.fuzz.fuzz_target import FuzzTarget

TARGETS = (
    "accept",
    "administration",
    "array_pieces",
    "authorization",
    "batch",
    "certificates",
    "checkpoints",
    "compression",
    "configuration_file",
    "coordination_values",
    "delivery_log",
    "delivery_times",
    "filters",
    "groups_log",
    "gzip_bodies",
    "http_connection",
    "identifiers",
    "journal",
    "json_depth",
    "ndjson",
    "path_text",
    "queries",
    "recurrences",
    "restored_batches",
    "rpc_frames",
    "rpc_messages",
    "schedule_log",
    "sdk_answers",
    "sdk_streams",
    "segment",
    "send_batch",
    "send_request",
    "settlements",
    "signatures",
    "single_send",
    "snapshots",
    "sqs_json",
    "sqs_messages",
    "sqs_query",
    "sqs_queues",
    "tokens_file",
    "trace_context",
    "web_guard",
)


def module_of(name: str) -> str:
    return f"tests.fuzz.targets.{name}"


def load_target(module: str) -> FuzzTarget:
    target = import_module(module).TARGET
    assert isinstance(target, FuzzTarget)
    return target

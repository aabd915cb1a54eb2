"""Acklog: what a user imports and runs. The wire formats shared with the server live in `acklog.wire`."""

from acklog.client.async_client import AsyncClient
from acklog.client.client import Client
from acklog.errors import AcklogError
from acklog.members import TopicPartition
from acklog.messages import (
    GroupState,
    LookedAt,
    Message,
    OutgoingMessage,
    Received,
    RecordsPage,
    Sent,
    Settled,
    StoredMessage,
    raise_for_failures,
)
from acklog.version import __version__

__all__ = [
    "AcklogError",
    "AsyncClient",
    "Client",
    "GroupState",
    "LookedAt",
    "Message",
    "OutgoingMessage",
    "Received",
    "RecordsPage",
    "Sent",
    "Settled",
    "StoredMessage",
    "TopicPartition",
    "__version__",
    "raise_for_failures",
]

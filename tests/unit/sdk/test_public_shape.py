"""Both clients have the same methods with the same parameters, and all that a user meets is exported."""

import inspect
from typing import Any

import pytest

import acklog
from acklog.client.async_catalog import AsyncGroups, AsyncTopics
from acklog.client.async_cluster import AsyncCluster
from acklog.client.async_encryption import AsyncEncryption
from acklog.client.async_namespaces import AsyncNamespaces
from acklog.client.async_scheduled import AsyncScheduled
from acklog.client.async_streams import AsyncStreams
from acklog.client.async_tables import AsyncTables
from acklog.client.catalog import Groups, Topics
from acklog.client.cluster import Cluster
from acklog.client.encryption import SyncEncryption
from acklog.client.namespaces import Namespaces
from acklog.client.scheduled import Scheduled
from acklog.client.streams import Streams
from acklog.client.tables import Tables
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.consumer.consumer import Consumer
from acklog.producer.async_producer import AsyncProducer
from acklog.producer.producer import Producer
from acklog.streams.async_stream import AsyncStream
from acklog.streams.stream import SyncStream

PAIRS = [
    (acklog.Client, acklog.AsyncClient),
    (Topics, AsyncTopics),
    (Groups, AsyncGroups),
    (Scheduled, AsyncScheduled),
    (Streams, AsyncStreams),
    (SyncStream, AsyncStream),
    (Tables, AsyncTables),
    (Namespaces, AsyncNamespaces),
    (Cluster, AsyncCluster),
    (SyncEncryption, AsyncEncryption),
    (Producer, AsyncProducer),
    (Consumer, AsyncConsumer),
]


def methods(kind: type[Any]) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


@pytest.mark.parametrize(("plain", "asynchronous"), PAIRS)
def test_both_have_the_same_methods_and_parameters(plain: type[Any], asynchronous: type[Any]) -> None:
    ours, theirs = methods(plain), methods(asynchronous)
    assert ours.keys() == theirs.keys()
    for name, signature in ours.items():
        assert list(signature.parameters) == list(theirs[name].parameters), name
        defaults = [each.default for each in signature.parameters.values()]
        assert defaults == [each.default for each in theirs[name].parameters.values()], name


@pytest.mark.parametrize(("plain", "asynchronous"), PAIRS)
def test_every_method_is_documented(plain: type[Any], asynchronous: type[Any]) -> None:
    for kind in (plain, asynchronous):
        for name in methods(kind):
            assert (getattr(kind, name).__doc__ or "").strip(), f"{kind.__name__}.{name}"


def test_what_is_exported_is_there() -> None:
    assert sorted(acklog.__all__) == acklog.__all__
    for name in acklog.__all__:
        assert getattr(acklog, name) is not None

"""An application that describes itself and serves nothing: what openapi.yaml is made from.

`python -m app.http.openapi_file` prints that file.
"""

import sys

from fastapi import FastAPI

from acklog.wire.problems import ProblemCode
from app.gateway.dependencies import Gateway
from app.http.application import create_app
from app.http.description.openapi import openapi_document, to_yaml
from cluster.catalog.cluster_admin import ClusterAdmin
from cluster.catalog.group_admin import GroupAdmin
from cluster.catalog.namespace_admin import NamespaceAdmin
from cluster.catalog.producer_admin import ProducerAdmin
from cluster.catalog.queue_admin import QueueAdmin
from cluster.catalog.recurring_admin import RecurringAdmin
from cluster.catalog.redrive_admin import RedriveAdmin
from cluster.catalog.token_admin import TokenAdmin
from cluster.catalog.topic_admin import TopicAdmin
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.runtime import SteadyClock, SystemEntropy
from cluster.stores.memory_store import MemoryStore
from storage.rpc.node_api import NodeApi


class NoNodes:
    """A node directory without nodes."""

    def client(self, node_id: int) -> NodeApi:
        raise ServerError(ProblemCode.UNAVAILABLE, f"there is no node {node_id}")


def standalone_app() -> FastAPI:
    clock = SteadyClock()
    entropy = SystemEntropy()
    store = MemoryStore(clock)
    metadata = MetadataView(store, clock)
    gateway = Gateway(
        metadata=metadata,
        topics=TopicAdmin(store, metadata, clock=clock, entropy=entropy),
        groups=GroupAdmin(store, metadata, clock=clock, entropy=entropy),
        producers=ProducerAdmin(store, metadata, clock=clock, entropy=entropy),
        recurring=RecurringAdmin(store, metadata, clock=clock, entropy=entropy),
        redrives=RedriveAdmin(store, metadata, clock=clock, entropy=entropy),
        stored_tokens=TokenAdmin(store, metadata, clock=clock, entropy=entropy),
        namespaces=NamespaceAdmin(store, metadata, clock=clock, entropy=entropy),
        queues=QueueAdmin(store, metadata, clock=clock, entropy=entropy),
        steering=ClusterAdmin(store, metadata, clock=clock),
        nodes=NoNodes(),
        clock=clock,
        entropy=entropy,
    )
    return create_app(gateway)


def main() -> None:
    sys.stdout.write(to_yaml(openapi_document(standalone_app())))


if __name__ == "__main__":
    main()

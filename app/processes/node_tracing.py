"""A node's parts as they are composed with a tracer, and without one."""

from app.gateway.dependencies import NodeDirectory
from app.gateway.traced_nodes import TracedNodes
from cluster.catalog.topic_admin import TopicAdmin
from cluster.metadata.metadata_view import MetadataView
from cluster.ports.clock import Clock
from cluster.ports.tracing import Tracer
from storage.node.groups.dead_letter_sink import DeadLetterSink
from storage.node.groups.dead_letter_topics import DeadLetterTopics
from storage.node.groups.traced_dead_letters import TracedDeadLetters
from storage.rpc.node_api import NodeApi
from storage.rpc.traced_node import TracedNode


def traced_node(node: NodeApi, metadata: MetadataView, tracer: Tracer | None) -> NodeApi:
    """The node as gateways see it."""
    return node if tracer is None else TracedNode(node, tracer, metadata)


def dead_letters_of(
    topics: TopicAdmin, metadata: MetadataView, nodes: NodeDirectory, clock: Clock, tracer: Tracer | None
) -> DeadLetterSink:
    if tracer is None:
        return DeadLetterTopics(topics, metadata, nodes.client, clock=clock)
    asked = TracedNodes(nodes, tracer)
    return TracedDeadLetters(DeadLetterTopics(topics, metadata, asked.client, clock=clock), tracer)

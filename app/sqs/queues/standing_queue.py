"""Whether a queue is there: its entry, the topic and the group of it, as the metadata view shows them."""

from app.sqs.queue import Queue
from cluster.metadata.metadata_view import MetadataView
from cluster.model.sqs_queue import SqsQueue, group_name_of


def standing_queue(stored: SqsQueue | None, metadata: MetadataView) -> Queue | None:
    """None for a claim, and where its topic or its group is gone, or another one has the name."""
    if stored is None or stored.is_claim:
        return None
    topic, group = metadata.topic(stored.name), metadata.group(group_name_of(stored.name))
    if topic is None or group is None or (topic.id, group.id) != (stored.topic_id, stored.group_id):
        return None
    return Queue(stored, topic, group)

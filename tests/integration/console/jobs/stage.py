"""What the main jobs are done with: a topic, a group that is behind in it, and a dead letter of that group."""

from dataclasses import dataclass

from acklog import Client
from acklog.errors import TopicNotFound
from tests.support.waiting import wait_until

MESSAGES = 3
REASON = "no such customer"
READY_SECONDS = 60


@dataclass(frozen=True)
class Stage:
    """`client` may do everything. `nodes`: those of the cluster; none: the server is one by itself."""

    client: Client
    topic: str
    group: str
    message_id: str
    nodes: int

    @property
    def letters(self) -> str:
        return f"{self.topic}.{self.group}.dlq"


def set_stage(client: Client, name: str, *, nodes: int = 0) -> Stage:
    """The first message has died in the group; all others wait."""
    topic, group = f"topic-{name}", f"crew-{name}"
    client.topics.create(topic, partitions=1)
    client.groups.create(group, max_attempts=1)
    sent = [client.send(topic, {"order": number}, key=f"customer-{number}") for number in range(MESSAGES)]
    stage = Stage(client, topic, group, sent[0].message_id, nodes)
    received = client.receive(topic, group=group, max_messages=1, wait_s=10)
    client.nack(received.messages[0], delay_s=0, reason=REASON)
    wait_until(lambda: _has_letter(stage), seconds=READY_SECONDS, what="there is a dead letter")
    return stage


def _has_letter(stage: Stage) -> bool:
    try:
        return len(stage.client.records(stage.letters, 0).messages) == 1
    except TopicNotFound:
        return False

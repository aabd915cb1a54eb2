"""Where things are in the coordination store. The only module that spells a key."""

TOPICS = "/acklog/topics/"
PARTITIONS = "/acklog/partitions/"
GROUPS = "/acklog/groups/"
NAMESPACES = "/acklog/namespaces/"
NODES = "/acklog/nodes/"
OFFSETS = "/acklog/offsets/"
PRODUCERS = "/acklog/producers/"
RECURRING = "/acklog/recurring/"
REDRIVES = "/acklog/redrives/"
REDRIVE_PARTS = "/acklog/redrive-parts/"
REDRIVE_TOPICS = "/acklog/redrive-topics/"
SQS_QUEUES = "/acklog/sqs-queues/"
STORED_TOKENS = "/acklog/tokens/"
TOMBSTONES = "/acklog/tombstones/"
INCARNATIONS = "/acklog/incarnations/"
DIRECTORIES = "/acklog/directories/"
CONTROLLER = "/acklog/controller"
"""Who is the controller, under its lease. The key's create revision is the fencing token."""

STEERING = "/acklog/steering/"
STEERING_CLUSTER = f"{STEERING}cluster"
STEERING_NODES = f"{STEERING}nodes/"
STEERING_PARTITIONS = f"{STEERING}partitions/"
ROOT = "/acklog/"


def topic(name: str) -> str:
    return f"{TOPICS}{name}"


def partition(topic_id: str, partition: int) -> str:
    return f"{PARTITIONS}{topic_id}/{partition:04d}"


def partitions_of(topic_id: str) -> str:
    return f"{PARTITIONS}{topic_id}/"


def group(name: str) -> str:
    return f"{GROUPS}{name}"


def namespace(name: str) -> str:
    return f"{NAMESPACES}{name}"


def node(node_id: int) -> str:
    return f"{NODES}{node_id}"


def offsets(group_id: str, topic_id: str) -> str:
    return f"{OFFSETS}{group_id}/{topic_id}"


def offsets_of(group_id: str) -> str:
    return f"{OFFSETS}{group_id}/"


def producer(topic_id: str, name: str) -> str:
    return f"{PRODUCERS}{topic_id}/{name}"


def producers_of(topic_id: str) -> str:
    return f"{PRODUCERS}{topic_id}/"


def recurring(topic_id: str, name: str) -> str:
    return f"{RECURRING}{topic_id}/{name}"


def recurring_of(topic_id: str) -> str:
    return f"{RECURRING}{topic_id}/"


def redrive(group_id: str, job_id: str) -> str:
    return f"{REDRIVES}{group_id}/{job_id}"


def redrives_of(group_id: str) -> str:
    return f"{REDRIVES}{group_id}/"


def redrive_topic(group_id: str, topic_id: str) -> str:
    """Names the job that was begun last for a group in a topic of dead letters."""
    return f"{REDRIVE_TOPICS}{group_id}/{topic_id}"


def redrive_part(job_id: str, partition: int) -> str:
    """How far the job is in a partition of dead letters."""
    return f"{REDRIVE_PARTS}{job_id}/{partition:04d}"


def redrive_parts_of(job_id: str) -> str:
    return f"{REDRIVE_PARTS}{job_id}/"


def sqs_queue(name: str) -> str:
    return f"{SQS_QUEUES}{name}"


def stored_token(name: str) -> str:
    return f"{STORED_TOKENS}{name}"


def tombstone(deleted_id: str) -> str:
    """Says that the topic or group with this id was deleted on purpose: only then may its data be removed (R13)."""
    return f"{TOMBSTONES}{deleted_id}"


def incarnation(node_id: int) -> str:
    """The counter of the node's starts."""
    return f"{INCARNATIONS}{node_id}"


def directory_starts(directory_id: str) -> str:
    """How often the node's data directory was started."""
    return f"{DIRECTORIES}{directory_id}"


def node_steering(node_id: int) -> str:
    """What the operators want of a node."""
    return f"{STEERING_NODES}{node_id}"


def partition_order(topic_id: str, partition: int) -> str:
    """What the operators want of a partition's replicas."""
    return f"{STEERING_PARTITIONS}{topic_id}/{partition:04d}"

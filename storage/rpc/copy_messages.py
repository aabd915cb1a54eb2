"""What a gateway asks of a partition that is backed up or restored. Fields are added at the end only, as in
`storage.rpc.messages`."""

import msgspec

STATE = "state"
BATCHES = "batches"
GROUPS = "groups"

MESSAGES = "messages"
SCHEDULE = "schedule"


class _Message(msgspec.Struct, array_like=True, gc=False):
    pass


class CopyRequest(_Message):
    """`action`: STATE, for how far the logs are, and those groups that `group_ids` names; or of the topic that the
    restore `restore_id` fills:

    BATCHES: append `content`, batches back to back, to the `log` MESSAGES or SCHEDULE, each at its own offset, and fill
    it up to `fill_to` (-1: no further) with offsets of which nothing is left. What is there already is left out, so it
    may be asked again; the answer says how far the log is.

    GROUPS: take over what is in `content`, a delivery state as STATE gives it, of the groups of `group_ids`, which maps
    their ids there to the ids here.

    Raises TOPIC_NOT_RESTORING, INVALID_FIELD, RESTORE_CONFLICT, NOT_ENOUGH_REPLICAS.
    """

    topic_id: str
    partition: int
    action: str
    restore_id: str = ""
    content: bytes = b""
    log: str = MESSAGES
    fill_to: int = -1
    group_ids: dict[str, str] = {}
    timeout_ms: int = 10_000


class CopyResponse(_Message):
    """`state` is the delivery state of those groups that were asked for and have read there, `group_ids`, at a moment
    when readers began at `log_start` and everything below `high_watermark` was committed: no group is further than
    that. `schedule_end` is how far the schedule log is committed."""

    state: bytes
    log_start: int
    high_watermark: int
    schedule_end: int
    leader_epoch: int
    group_ids: list[str] = []

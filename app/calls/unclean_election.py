"""What operators ask of an unclean election, and what they are told."""

import msgspec


class LogReachView(msgspec.Struct, rename="camel"):
    """`last_epoch` is that of the last record, -1 where it is not known."""

    log_start: int
    log_end: int
    last_epoch: int
    high_watermark: int


class UncleanReplicaView(msgspec.Struct, rename="camel"):
    """One replica. `problem` says why it cannot be elected; without its logs the node could not be asked."""

    node: int
    registered: bool
    in_sync: bool
    messages: LogReachView | None
    delivery: LogReachView | None
    problem: str | None


class UncleanGroupView(msgspec.Struct, rename="camel"):
    """`progress` is as was last heard, `progress_then` what would become of it."""

    group: str
    progress: int
    progress_then: int


class UncleanLossView(msgspec.Struct, rename="camel"):
    """Messages from `from_offset` on, below `below_offset` as far as is known. The nodes in `unknown_beyond` were in
    sync and cannot be asked: they may have had more."""

    from_offset: int
    below_offset: int
    unknown_beyond: list[int]
    groups: list[UncleanGroupView]


class UncleanOrderView(msgspec.Struct, rename="camel"):
    """What is to be sent to have it done."""

    node: int
    incarnation: int
    directory_id: str
    revision: int


class UncleanPlanView(msgspec.Struct, rename="camel"):
    """Nothing was changed. `loss` and `order` are null where no replica can be elected."""

    topic: str
    partition: int
    leader_epoch: int
    replicas: list[UncleanReplicaView]
    loss: UncleanLossView | None
    order: UncleanOrderView | None


class UncleanElectionView(msgspec.Struct, rename="camel"):
    """The mark that stays in the partition: its last unclean election, and how often there was one."""

    count: int
    leader_epoch: int
    node: int
    log_end: int
    lost_below: int
    at_ms: int


class UncleanElectedView(msgspec.Struct, rename="camel"):
    """What was done."""

    topic: str
    partition: int
    unclean_election: UncleanElectionView

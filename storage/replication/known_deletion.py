"""Which of a partition's messages were deleted on purpose, as far as one replica has heard."""

from cluster.model.partition_change import latest_deletion
from cluster.model.values import Deletion


class KnownDeletion:
    """`last` is the last one. News of it come from whoever decides, and of the partition's key, in any order."""

    def __init__(self) -> None:
        self.last: Deletion | None = None

    def heard(self, deletion: Deletion | None) -> None:
        self.last = latest_deletion(self.last, deletion)

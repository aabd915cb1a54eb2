"""Groups by their ids, for calls that name one."""

from functools import partial

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import Group
from storage.delivery.modes import SERVED_MODES
from storage.node.metadata_lag import wait_for_metadata


class KnownGroups:
    """What a gateway knows already is waited for."""

    def __init__(self, metadata: MetadataView, *, metadata_lag_ms_max: int) -> None:
        self._metadata = metadata
        self._metadata_lag_ms_max = metadata_lag_ms_max

    async def group(self, group_id: str) -> Group:
        """Raises ServerError GROUP_NOT_FOUND."""
        look = partial(self._metadata.group_by_id, group_id)
        group = look() or await wait_for_metadata(self._metadata, look, timeout_ms=self._metadata_lag_ms_max)
        if group is None:
            raise group_not_found()
        return group

    async def served(self, group_id: str) -> Group:
        """One that receives and settles may name. Raises ServerError GROUP_NOT_FOUND, WRONG_GROUP_MODE."""
        group = await self.group(group_id)
        if group.mode not in SERVED_MODES:
            served = ", ".join(sorted(mode.value for mode in SERVED_MODES))
            detail = f"The group's mode is {group.mode.value}; only {served} ones are served."
            raise ServerError(ProblemCode.WRONG_GROUP_MODE, detail)
        return group


def group_not_found() -> ServerError:
    return ServerError(ProblemCode.GROUP_NOT_FOUND, "There is no group with this id.", field="group")

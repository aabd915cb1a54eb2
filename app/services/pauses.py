"""Pausing groups, and letting them go on."""

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.groups import GroupView
from app.calls.pauses import PauseCommand
from app.calls.same_namespace import check_same_namespace
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from app.services.group_views import group_view
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.pauses import EVERY_TOPIC, with_pause, without_pause
from cluster.model.values import Pause, Topic

PAUSES_MAX = 1_000
"""Topics of which one group may be paused apart from the others."""


class PauseService:
    """A pause is in the group's value, so it is durable; leaders learn of it as of every change of a group."""

    def __init__(self, gateway: Gateway, catalog: Catalog) -> None:
        self._gateway = gateway
        self._catalog = catalog

    async def pause(self, name: str, command: PauseCommand, principal: Principal) -> GroupView:
        """Raises ServerError GROUP_NOT_FOUND, TOPIC_NOT_FOUND, PARTITION_NOT_FOUND, INVALID_FIELD, NODES_TOO_OLD."""
        topic = await self._named(name, command, principal)
        topic_id, now_ms = EVERY_TOPIC if topic is None else topic.id, self._gateway.clock.now_ms()

        def paused(pauses: tuple[Pause, ...]) -> tuple[Pause, ...]:
            found = with_pause(pauses, topic_id, command.partitions, now_ms=now_ms)
            if len(found) > PAUSES_MAX:
                detail = f"{PAUSES_MAX} topics of the group are paused already, that is the limit: pause the group"
                raise ServerError(ProblemCode.INVALID_FIELD, detail, field="topic")
            return found

        group = await self._gateway.groups.pause(name, paused)
        return group_view(group, self._gateway.metadata, principal)

    async def resume(self, name: str, command: PauseCommand, principal: Principal) -> GroupView:
        """Raises as `pause` does."""
        topic = await self._named(name, command, principal)

        def resumed(pauses: tuple[Pause, ...]) -> tuple[Pause, ...]:
            if topic is None:
                return ()
            return without_pause(pauses, topic.id, command.partitions, partition_count=topic.partitions)

        group = await self._gateway.groups.resume(name, resumed)
        return group_view(group, self._gateway.metadata, principal)

    async def _named(self, name: str, command: PauseCommand, principal: Principal) -> Topic | None:
        principal.require_on_group(Action.MANAGE, name)
        if command.topic is not None:
            check_same_namespace(name, command.topic, field="topic")
        await self._catalog.group(name)
        if command.topic is None:
            return None
        topic = await self._catalog.topic(command.topic, principal, Action.MANAGE, field="topic")
        for partition in command.partitions:
            await self._catalog.topic_with_partition(command.topic, partition, principal, Action.MANAGE)
        return topic

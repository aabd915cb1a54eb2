"""Administration of namespaces."""

from collections.abc import Callable
from functools import partial

from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.names import check_namespace
from app.calls.namespaces import NamespaceFields, NamespaceListing, NamespaceSettingsFields, NamespaceView
from app.gateway.dependencies import Gateway
from app.services.confirmations import Confirmations
from app.services.differences import differences, refuse_differences
from cluster.catalog.namespace_room import no_namespace
from cluster.model import keys
from cluster.model.action import Action
from cluster.model.namespace import Namespace, NamespaceSettings, NamespaceUse, use_of


class NamespaceService:
    """Who manages the cluster makes, changes and deletes them; who may do anything in one may look at it. Calls raise
    ServerError: FORBIDDEN by the name alone, INVALID_NAME, and what each names."""

    def __init__(self, gateway: Gateway) -> None:
        self._metadata = gateway.metadata
        self._namespaces = gateway.namespaces
        self._confirmations = Confirmations(gateway)

    async def create(self, name: str, fields: NamespaceFields, principal: Principal) -> tuple[NamespaceView, bool]:
        """The namespace; True when it was made, and not there with the settings that `fields` names.

        Raises ServerError NAMESPACE_EXISTS (with others), TOO_MANY_NAMESPACES, NODES_TOO_OLD.
        """
        principal.require_on_cluster(Action.MANAGE)
        check_namespace(name)
        changes = fields.settings or NamespaceSettingsFields()
        namespace, is_created = await self._namespaces.get_or_create(name, changes.applied_to(NamespaceSettings()))
        found = differences(namespace.settings, changes, path="settings.")
        refuse_differences(ProblemCode.NAMESPACE_EXISTS, f"/namespaces/{name}", found)
        return self._view(namespace), is_created

    async def update(self, name: str, fields: NamespaceFields, principal: Principal) -> NamespaceView:
        """Change what `fields` names. Raises ServerError NAMESPACE_NOT_FOUND."""
        principal.require_on_cluster(Action.MANAGE)
        check_namespace(name)
        changes = fields.settings or NamespaceSettingsFields()
        return self._view(await self._namespaces.update(name, changes.applied_to))

    async def delete(self, name: str, principal: Principal) -> None:
        """Raises ServerError NAMESPACE_NOT_FOUND, NAMESPACE_NOT_EMPTY."""
        principal.require_on_cluster(Action.MANAGE)
        check_namespace(name)
        await self._namespaces.delete(name)

    async def describe(self, name: str, principal: Principal) -> NamespaceView:
        """Raises ServerError NAMESPACE_NOT_FOUND."""
        principal.require_namespace(name)
        check_namespace(name)
        found = self._metadata.namespaces.find(name)
        if found is None:  # another gateway may have made it a moment ago
            await self._confirmations.confirm_all(keys.namespace(name), f"whether there is a namespace {name!r}")
            found = self._metadata.namespaces.find(name)
        if found is None:
            raise no_namespace(name)
        return self._view(found)

    def list_page(self, principal: Principal, *, limit: int, after: str) -> NamespaceListing:
        """By name, those that the principal may look at."""
        use = self._uses()
        found: list[NamespaceView] = []
        for namespace in self._metadata.namespaces.all():
            if namespace.name > after and principal.knows_namespace(namespace.name):
                if len(found) == limit:
                    return NamespaceListing(found, found[-1].name)
                found.append(_view(namespace, use(namespace.name)))
        return NamespaceListing(found)

    def _view(self, namespace: Namespace) -> NamespaceView:
        return _view(namespace, self._uses()(namespace.name))

    def _uses(self) -> Callable[[str], NamespaceUse]:
        """What there is in a namespace of that name, as of now."""
        metadata = self._metadata
        return partial(
            use_of,
            topics=metadata.topics(),
            groups=metadata.groups(),
            schedules_of=metadata.recurring.count_of_topic,
            producers_of=metadata.producers.count_of_topic,
        )


def _view(namespace: Namespace, use: NamespaceUse) -> NamespaceView:
    return NamespaceView(
        namespace.name,
        namespace.id,
        namespace.created_at_ms,
        namespace.settings,
        use.topics,
        use.partitions,
        use.groups,
        use.schedules,
        use.producers,
    )

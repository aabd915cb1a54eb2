"""Showing the data keys of a topic, and having another one made."""

from app.auth.principal import Principal
from app.calls.encryption import DataKeyView, EncryptionView, NodeMasterKeys
from app.gateway.dependencies import Gateway
from app.services.catalog import Catalog
from cluster.model.action import Action
from cluster.model.values import Topic


class EncryptionService:
    """Needs the right to manage the topic."""

    def __init__(self, gateway: Gateway, catalog: Catalog) -> None:
        self._metadata = gateway.metadata
        self._topics = gateway.topics
        self._catalog = catalog

    async def state(self, name: str, principal: Principal) -> EncryptionView:
        """Raises ServerError TOPIC_NOT_FOUND."""
        topic = await self._catalog.operated_topic(name, principal, Action.MANAGE)
        await self._catalog.confirm_nodes()
        return self._view(await self._catalog.latest_topic(name) or topic, principal)

    async def rotate(self, name: str, principal: Principal) -> EncryptionView:
        """Returns at once: a node makes the key soon. Raises ServerError TOPIC_NOT_FOUND, NOT_ENCRYPTED,
        TOO_MANY_DATA_KEYS."""
        await self._catalog.operated_topic(name, principal, Action.MANAGE)
        return self._view(await self._topics.rotate_data_key(name), principal)

    def _view(self, topic: Topic, principal: Principal) -> EncryptionView:
        if not principal.may_on_cluster(Action.LOOK):
            keys = [DataKeyView(each.number, "", each.created_at_ms) for each in topic.data_keys]
            return EncryptionView(topic.name, topic.config.encryption, topic.data_keys_wanted, keys, [])
        nodes = [
            NodeMasterKeys(member.node_id, list(member.registration.master_keys))
            for member in self._metadata.steering.membership.live()
            if member.registration is not None
        ]
        keys = [DataKeyView(each.number, each.master_key, each.created_at_ms) for each in topic.data_keys]
        return EncryptionView(topic.name, topic.config.encryption, topic.data_keys_wanted, keys, nodes)

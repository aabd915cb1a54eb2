"""Namespaces, for `await`."""

from typing import Unpack

from acklog.client import namespace_calls
from acklog.client.caller import Caller
from acklog.namespaces import Namespace, NamespaceChanges

PAGE_LENGTH = 1000


class AsyncNamespaces:
    """`client.namespaces`. Every method raises AcklogError; but for `get` and `list` it takes who manages the cluster.
    What is in a namespace is named by its whole name: `client.topics.get("shop/orders")`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def create(self, name: str, **settings: Unpack[NamespaceChanges]) -> Namespace:
        """Make a namespace; one that is there with these settings is fine. Raises NamespaceExists (with others),
        TooManyNamespaces, InvalidName."""
        return await self._caller.perform(namespace_calls.create_namespace(name, settings))

    async def update(self, name: str, **settings: Unpack[NamespaceChanges]) -> Namespace:
        """Change what is named. Raises NamespaceNotFound."""
        return await self._caller.perform(namespace_calls.update_namespace(name, settings))

    async def delete(self, name: str) -> None:
        """Raises NamespaceNotFound, NamespaceNotEmpty."""
        await self._caller.perform(namespace_calls.delete_namespace(name))

    async def get(self, name: str) -> Namespace:
        """With how much there is in it. Raises NamespaceNotFound, Forbidden."""
        return await self._caller.perform(namespace_calls.get_namespace(name))

    async def list(self) -> "list[Namespace]":
        """All in which the token may do something, by name."""
        found: list[Namespace] = []
        after: str | None = None
        while True:
            page = await self._caller.perform(namespace_calls.list_namespaces(limit=PAGE_LENGTH, after=after))
            found += page.namespaces
            after = page.next
            if after is None:
                return found

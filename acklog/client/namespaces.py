"""Namespaces, without `await`. What each method does stands with its twin in `async_namespaces`."""

from collections.abc import Callable
from typing import Unpack

from acklog.client.async_namespaces import AsyncNamespaces
from acklog.client.background import Background
from acklog.namespaces import Namespace, NamespaceChanges


class Namespaces:
    """`client.namespaces`. Every method raises AcklogError; but for `get` and `list` it takes who manages the cluster.
    What is in a namespace is named by its whole name: `client.topics.get("shop/orders")`."""

    def __init__(self, background: Background, twin: Callable[[], AsyncNamespaces]) -> None:
        self._run = background.run
        self._twin = twin

    def create(self, name: str, **settings: Unpack[NamespaceChanges]) -> Namespace:
        """Make a namespace; one that is there with these settings is fine. Raises NamespaceExists (with others),
        TooManyNamespaces, InvalidName."""
        return self._run(lambda: self._twin().create(name, **settings))

    def update(self, name: str, **settings: Unpack[NamespaceChanges]) -> Namespace:
        """Change what is named. Raises NamespaceNotFound."""
        return self._run(lambda: self._twin().update(name, **settings))

    def delete(self, name: str) -> None:
        """Raises NamespaceNotFound, NamespaceNotEmpty."""
        self._run(lambda: self._twin().delete(name))

    def get(self, name: str) -> Namespace:
        """With how much there is in it. Raises NamespaceNotFound, Forbidden."""
        return self._run(lambda: self._twin().get(name))

    def list(self) -> "list[Namespace]":
        """All in which the token may do something, by name."""
        return self._run(lambda: self._twin().list())

"""Declaring a node dead before its lease ends: for whoever has seen its process die and confirmed it with a probe."""

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.values import ControllerClaim, NodeRegistration
from cluster.ports.coordination import Compare, Delete, KeyValue, Operation, unchanged


def declared_dead(
    registration: KeyValue, controller: KeyValue | None = None
) -> tuple[tuple[Compare, ...], tuple[Operation, ...]]:
    """Compares and operations of the transaction that ends this very registration, and the node's term as controller.

    `controller` is the controller's key as it was read. A node that registered anew meanwhile is not touched; one that
    lives after all registers again, and loses what it led but nothing that it stores.
    """
    node = decode(NodeRegistration, registration.value)
    compares: list[Compare] = [unchanged(registration)]
    operations: list[Operation] = [Delete(registration.key)]
    if controller is not None:
        claim = decode(ControllerClaim, controller.value)
        if (claim.node_id, claim.incarnation) == (node.node_id, node.incarnation):
            compares.append(unchanged(controller))
            operations.append(Delete(keys.CONTROLLER))
    return tuple(compares), tuple(operations)

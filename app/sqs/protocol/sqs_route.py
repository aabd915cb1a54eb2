"""What a request of SQS is counted and recorded as."""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import Scope

from app.http.description.needed_rights import Need, Needed, On
from app.sqs.shapes import CALLS
from cluster.model.action import Action


@dataclass(frozen=True, slots=True)
class SqsRoute:
    """In the place of the framework's: `path` is the label of metrics, `operation_id` and `needed` are for the audit
    log. There are as many as there are operations, and one for what is none."""

    path: str
    operation_id: str
    needed: Needed

    @property
    def only_looks(self) -> bool:
        return all(need.actions == (Action.LOOK,) for need in self.needed.needs)


UNKNOWN = SqsRoute("sqs", "", Needed(()))


def _route(operation: str, right: str) -> SqsRoute:
    on = On.ANYTHING if operation == "ListQueues" else On.TOPIC
    return SqsRoute(f"sqs/{operation}", f"sqs.{operation}", Needed((Need((Action(right),), on),)))


def unwatched(_scope: Scope, _status: int, _body: bytes) -> None:
    """Which answers of SQS are refusals their status does not tell: `SqsAudit` does."""


ROUTES: Mapping[str, SqsRoute] = {operation: _route(operation, call.right) for operation, call in CALLS.items()}

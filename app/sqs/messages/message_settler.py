"""Deleting what was received, and changing for how long it is hidden."""

import asyncio
from collections.abc import Sequence
from enum import Enum

from acklog.wire.limits import VISIBILITY_SECONDS_MAX
from acklog.wire.problems import ProblemCode
from app.auth.principal import Principal
from app.calls.settle import SettleCommand
from app.services.inspect import InspectService
from app.services.settle import SettleService
from app.sqs.messages.invalid import invalid_value, shown
from app.sqs.messages.message_sender import Translate
from app.sqs.messages.receipt_handle import ReceiptHandle, parse_handle
from app.sqs.queue import Queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.errors import ServerError
from cluster.ports.clock import Clock

_EXPIRED = "The receipt handle has expired."
_NOT_AVAILABLE = "Message does not exist or is not available for visibility timeout change."
_DONE = frozenset({"done", "deadLettered", "expired", "passedOver"})


class _Found(Enum):
    """What a look at a delivery's message says."""

    OUT = "out"  # with somebody, or that cannot be told
    BACK = "back"  # with nobody, and not done
    GONE = "gone"  # done, or removed


class MessageSettler:
    """Acklog takes a receipt until a newer one is given out. Where SQS goes by the deadline, the message is looked at
    first once that is over, as the handle says: until then nothing is asked."""

    def __init__(self, settle: SettleService, look: InspectService, translate: Translate, clock: Clock) -> None:
        self._settle = settle
        self._look = look
        self._translate = translate
        self._clock = clock

    async def delete(self, queue: Queue, handles: Sequence[str], principal: Principal) -> list[SqsError | None]:
        """None for what is done. Raises ServerError."""
        outcomes: list[SqsError | None] = [None] * len(handles)
        valid = self._valid(queue, handles, outcomes)
        if queue.is_fifo:
            for index, found in (await self._looked_at(valid, queue, principal)).items():
                if found is _Found.BACK:
                    outcomes[index] = _expired(handles[index])
                if found is not _Found.OUT:
                    del valid[index]
        faults = await self._settled("ack", valid, principal)
        for index, fault in faults.items():
            if fault.code is not ProblemCode.RECEIPT_STALE:
                outcomes[index] = self._fault(fault, handles[index])
            elif queue.is_fifo:
                outcomes[index] = _expired(handles[index])
            # Else somebody has received it again: it stays, and the call is a success all the same.
        return outcomes

    async def change_visibility(
        self, queue: Queue, changes: Sequence[tuple[str, int]], principal: Principal
    ) -> list[SqsError | None]:
        """None for what is done. Raises ServerError."""
        handles = [handle for handle, _ in changes]
        outcomes: list[SqsError | None] = [None] * len(changes)
        valid = self._valid(queue, handles, outcomes)
        for index, handle in list(valid.items()):
            outcomes[index] = self._beyond_limit(handle, changes[index][1])
            if outcomes[index] is not None:
                del valid[index]
        for index, found in (await self._looked_at(valid, queue, principal)).items():
            if found is _Found.BACK:
                detail = f"The message of the receipt handle {shown(handles[index])} is not in flight."
                outcomes[index] = SqsError(SqsErrorCode.MESSAGE_NOT_IN_FLIGHT, detail)
            elif found is _Found.GONE:
                outcomes[index] = invalid_value(handles[index], "ReceiptHandle", _NOT_AVAILABLE)
            if found is not _Found.OUT:
                del valid[index]
        by_seconds: dict[int, dict[int, ReceiptHandle]] = {}
        for index, handle in valid.items():
            by_seconds.setdefault(changes[index][1], {})[index] = handle
        for seconds, some in by_seconds.items():
            action = "extend" if seconds else "nack"
            faults = await self._settled(action, some, principal, visibility_ms=seconds * 1000)
            for index, fault in faults.items():
                outcomes[index] = self._fault(fault, handles[index])
        return outcomes

    def _valid(self, queue: Queue, handles: Sequence[str], outcomes: list[SqsError | None]) -> dict[int, ReceiptHandle]:
        """By index, those that are handles of the queue; of the others it is noted what is wrong."""
        valid: dict[int, ReceiptHandle] = {}
        for index, text in enumerate(handles):
            handle = parse_handle(text)
            if handle is None:
                outcomes[index] = _not_a_handle(text)
            elif (handle.receipt.topic_id, handle.receipt.group_id) != (queue.topic.id, queue.group.id):
                detail = f"The input receipt handle {shown(text)!r} is not valid for this queue."
                outcomes[index] = SqsError(SqsErrorCode.RECEIPT_HANDLE_IS_INVALID, detail)
            else:
                valid[index] = handle
        return valid

    def _beyond_limit(self, handle: ReceiptHandle, seconds: int) -> SqsError | None:
        """The time since the receive counts, where it is known."""
        if not 0 <= seconds <= VISIBILITY_SECONDS_MAX:
            detail = f"VisibilityTimeout must be an integer between 0 and {VISIBILITY_SECONDS_MAX}."
            return invalid_value(seconds, "VisibilityTimeout", detail)
        if not seconds or handle.received_at_ms < 0:
            return None
        passed_ms = max(self._clock.now_ms() - handle.received_at_ms, 0)
        if passed_ms + seconds * 1000 <= VISIBILITY_SECONDS_MAX * 1000:
            return None
        detail = f"Total VisibilityTimeout for the message is beyond the limit [{VISIBILITY_SECONDS_MAX} seconds]"
        return invalid_value(seconds, "VisibilityTimeout", detail)

    async def _looked_at(
        self, handles: dict[int, ReceiptHandle], queue: Queue, principal: Principal
    ) -> dict[int, _Found]:
        """Those of which the lease may be over."""
        now_ms = self._clock.now_ms()
        over = {index: handle for index, handle in handles.items() if handle.epoch >= 0 and handle.may_be_over(now_ms)}
        found = await asyncio.gather(*(self._found(handle, queue, principal) for handle in over.values()))
        return dict(zip(over, found, strict=True))

    async def _found(self, handle: ReceiptHandle, queue: Queue, principal: Principal) -> _Found:
        try:
            view = await self._look.look(str(handle.message_id), principal)
        except ServerError as error:
            is_gone = error.code in (ProblemCode.MESSAGE_NOT_FOUND, ProblemCode.MESSAGE_EXPIRED)
            return _Found.GONE if is_gone else _Found.OUT
        state = next((each.state for each in view.groups if each.group == queue.group.name), "leased")
        if state == "leased":
            return _Found.OUT
        return _Found.GONE if state in _DONE else _Found.BACK

    async def _settled(
        self, action: str, handles: dict[int, ReceiptHandle], principal: Principal, *, visibility_ms: int = 0
    ) -> dict[int, ServerError]:
        """What failed, by its index."""
        if not handles:
            return {}
        command = SettleCommand(
            action,
            [handle.receipt for handle in handles.values()],
            is_batch=True,
            delay_ms=0,
            visibility_ms=visibility_ms,
        )
        results = await self._settle.settle_all(command, principal)
        return {index: fault for index, fault in zip(handles, results, strict=True) if fault is not None}

    def _fault(self, fault: ServerError, handle: str) -> SqsError:
        if fault.code is ProblemCode.RECEIPT_STALE:
            return invalid_value(handle, "ReceiptHandle", _NOT_AVAILABLE)
        if fault.code is ProblemCode.INVALID_RECEIPT:
            return _not_a_handle(handle)
        return self._translate(fault)


def _not_a_handle(text: str) -> SqsError:
    detail = f"The input receipt handle {shown(text)!r} is not a valid receipt handle."
    return SqsError(SqsErrorCode.RECEIPT_HANDLE_IS_INVALID, detail)


def _expired(handle: str) -> SqsError:
    return invalid_value(handle, "ReceiptHandle", _EXPIRED)

"""The answer to an ack, a nack or an extension."""

import msgspec

from app.calls.problem_item import problem_item
from app.calls.settle import SettleCommand
from app.http.exchange.problems import problem_response
from app.http.exchange.responses import BytesResponse, json_response, json_text_response
from cluster.errors import ServerError

_encode = msgspec.json.Encoder().encode
STATUS_OF_ACTION = {"ack": "acknowledged", "nack": "returned", "extend": "extended"}


def settle_response(settlement: SettleCommand, results: list[ServerError | None]) -> BytesResponse:
    """200 when all succeeded, 207 when some did, the first fault's status when none did."""
    done: dict[str, object] = {"status": STATUS_OF_ACTION[settlement.action]}
    first_fault = next((fault for fault in results if fault is not None), None)
    if not settlement.is_batch:
        return json_response(done) if first_fault is None else problem_response(first_fault)
    failed = sum(fault is not None for fault in results)
    if not failed:
        # Put together as text: an object per item would cost as much as settling it.
        text = _encode(done)
        return json_text_response(b'{"results":[%b],"failed":0}\n' % b",".join([text] * len(results)))
    items = [done if fault is None else problem_item(fault) for fault in results]
    answer = {"results": items, "failed": failed}
    if first_fault is not None and failed == len(results):
        whole = ServerError(
            first_fault.code,
            first_fault.detail,
            field=first_fault.field,
            retry_after_ms=first_fault.retry_after_ms,
            extra=answer,
        )
        return problem_response(whole)
    return json_response(answer, 207)

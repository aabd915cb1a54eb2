"""Giving back leases whose answer nobody will read: the client is gone, so the attempt must not count."""

from acklog.wire.identifiers import parse_receipt
from storage.rpc.messages import ReceiveResponse, SettleItem, SettleRequest


def release_requests(response: ReceiveResponse) -> list[SettleRequest]:
    """The requests that return every lease of `response`, one for each group and partition in it."""
    requests: dict[tuple[str, int, str], SettleRequest] = {}
    for message in response.messages:
        receipt = parse_receipt(message.receipt)
        if receipt is None:  # acknowledged already (`auto_ack`)
            continue
        key = (receipt.topic_id, receipt.partition, receipt.group_id)
        request = requests.get(key)
        if request is None:
            request = requests[key] = SettleRequest(*key, action="release", items=[])
        request.items.append(SettleItem(receipt.offset, receipt.generation, receipt.leader_epoch, receipt.attempt))
    return list(requests.values())

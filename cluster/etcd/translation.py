"""The port's words in etcd's messages, and back."""

from cluster.etcd import acklog_etcd_pb2 as messages
from cluster.ports.coordination import Changed, Compare, CompareTarget, Event, KeyValue, Operation, Put, Removed
from cluster.stores.key_space import Transaction

FROM_THE_START = b"\0"
TO_THE_END = b"\0"


def key_bytes(key: str) -> bytes:
    """Raises UnicodeEncodeError, which is a ValueError, for text that is none."""
    return key.encode()


def key_text(key: bytes) -> str:
    """Other programs may have keys that are not UTF-8: they are shown, and cannot be written."""
    return key.decode(errors="surrogateescape")


def prefix_range(prefix: str) -> tuple[bytes, bytes]:
    """First key, and the first one behind: all keys that begin with `prefix`."""
    if not prefix:
        return FROM_THE_START, TO_THE_END
    start = key_bytes(prefix)
    return start, start[:-1] + bytes([start[-1] + 1])  # UTF-8 has no byte 0xff


def key_value(item: messages.KeyValue) -> KeyValue:
    return KeyValue(
        key=key_text(item.key),
        value=item.value,
        create_revision=item.create_revision,
        mod_revision=item.mod_revision,
        version=item.version,
        lease_id=item.lease,
    )


def event(message: messages.Event) -> Event:
    if message.type == messages.Event.DELETE:
        return Removed(key_text(message.kv.key), message.kv.mod_revision)
    return Changed(key_value(message.kv))


def transaction_request(transaction: Transaction) -> messages.TxnRequest:
    return messages.TxnRequest(
        compare=[_compare(each) for each in transaction.compares],
        success=[_operation(each) for each in transaction.then],
        failure=[_operation(each) for each in transaction.otherwise],
    )


def _compare(compare: Compare) -> messages.Compare:
    message = messages.Compare(key=key_bytes(compare.key), result=messages.Compare.EQUAL)
    if isinstance(compare.value, bytes):
        message.target = messages.Compare.VALUE
        message.value = compare.value
    elif compare.target is CompareTarget.CREATE_REVISION:
        message.target = messages.Compare.CREATE
        message.create_revision = compare.value
    elif compare.target is CompareTarget.MOD_REVISION:
        message.target = messages.Compare.MOD
        message.mod_revision = compare.value
    else:
        message.target = messages.Compare.VERSION
        message.version = compare.value
    return message


def _operation(operation: Operation) -> messages.RequestOp:
    key = key_bytes(operation.key)
    if isinstance(operation, Put):
        put = messages.PutRequest(key=key, value=operation.value, lease=operation.lease_id)
        return messages.RequestOp(request_put=put)
    return messages.RequestOp(request_delete_range=messages.DeleteRangeRequest(key=key))

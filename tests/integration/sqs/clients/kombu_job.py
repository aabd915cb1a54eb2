"""Sends and receives by kombu's transport for SQS, against the server at SQS_URL."""

import contextlib
import os

from kombu import Connection

with Connection(
    os.environ["SQS_URL"], transport_options={"region": "us-east-1", "wait_time_seconds": 2, "visibility_timeout": 10}
) as connection:
    queue = connection.SimpleQueue(f"kombu-{os.getpid()}")
    for number in range(20):
        queue.put({"number": number})
    found = []
    while len(found) < 20:
        message = queue.get(block=True, timeout=20)
        found.append(message.payload["number"])
        message.ack()
    assert sorted(found) == list(range(20)), found
    with contextlib.suppress(queue.Empty):
        raise AssertionError(f"{queue.get(block=True, timeout=1)} came twice")
    queue.close()
print("ok")

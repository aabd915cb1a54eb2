"""Restores the last backup of a topic beside it, compares the two, and throws the copy away:
`python drill.py PLACE TOPIC`."""

import subprocess
import sys
import time

from acklog import Client


def acklog(*arguments: str) -> None:
    """Raises CalledProcessError: the drill has failed, and its exit code says so."""
    subprocess.run([sys.executable, "-m", "acklog.command", *arguments], check=True)


def messages(client: Client, topic: str, partition: int) -> dict[int, object]:
    """Bodies by offset."""
    found: dict[int, object] = {}
    page = client.records(topic, partition)
    while page.messages:
        found |= {message.offset: message.body for message in page.messages}
        page = client.records(topic, partition, offset=page.next_offset)
    return found


def drill(place: str, topic: str) -> int:
    """How many messages came back as they are."""
    copy, equal = f"{topic}-drill", 0
    acklog("backup", "verify", place)
    acklog("restore", place, "--topic", topic, "--as", f"{topic}={copy}", "--yes")
    with Client() as client:
        for partition in range(client.topics.get(copy).partitions):
            restored, present = messages(client, copy, partition), messages(client, topic, partition)
            differing = [offset for offset in restored if offset in present and restored[offset] != present[offset]]
            if differing:
                raise SystemExit(f"partition {partition}: other messages at the offsets {differing[:5]}")
            equal += len(restored)
        client.topics.delete(copy)
    return equal


if __name__ == "__main__":
    begin = time.monotonic()
    count = drill(sys.argv[1], sys.argv[2])
    print(f"{count} messages came back as they were, in {time.monotonic() - begin:.1f} s")

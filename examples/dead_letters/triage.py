"""Says why invoices are dead, repairs those that it can and sends them back: `python triage.py`."""

from decimal import Decimal
from typing import Any

from acklog import Client
from acklog.messages import Message

LETTERS = "invoices.billing.dlq"
GROUP = "acklog-dlq"  # the group of `acklog dlq`: what is done here is handled there, too
HEADER = "acklog-dead-letter-"


def repaired(invoice: dict[str, Any]) -> dict[str, Any] | None:
    """The invoice as it should have been; None where that takes a person."""
    if isinstance(invoice["cents"], str) and "." in invoice["cents"]:
        return {**invoice, "cents": int(Decimal(invoice["cents"]) * 100)}
    return None


def original_id(client: Client, letter: Message) -> str:
    """The id that the message had: look for it in the worker's log."""
    partition, offset = int(letter.headers[HEADER + "partition"]), int(letter.headers[HEADER + "offset"])
    return client.records(letter.headers[HEADER + "topic"], partition, offset=offset).messages[0].message_id


def send_back(client: Client, letter: Message, body: dict[str, Any]) -> None:
    """To where it came from. The letter is acked once that is on disk; a crash in between sends nothing twice."""
    headers = {name: value for name, value in letter.headers.items() if not name.startswith(HEADER)}
    topic = letter.headers[HEADER + "topic"]
    client.send(topic, body, key=letter.key, headers=headers, dedup_id=f"repaired-{letter.message_id}")
    client.ack(letter)


if __name__ == "__main__":
    with Client() as client:
        client.groups.create(GROUP, max_attempts=1000)
        left: list[Message] = []
        while letters := client.receive(LETTERS, group=GROUP, max_messages=100).messages:
            for letter in letters:
                print(original_id(client, letter), letter.headers[HEADER + "attempts"], "attempts", letter.body)
                body = repaired(letter.body)
                if body is None:
                    left.append(letter)
                else:
                    send_back(client, letter, body)
                    print("  sent back as", body)
        if left:
            client.nack(left, delay_s=0)
            print(f"{len(left)} for a person: acklog dlq show {LETTERS}")

"""Bills invoices: `python billing.py`. The customers are in customers.json."""

import json
import logging
from pathlib import Path

from acklog import Client
from acklog.messages import Message

CUSTOMERS = Path("customers.json")


def bill(message: Message) -> None:
    """Whatever it raises is logged, with the message's id; the message comes again, and in the end is a dead letter."""
    invoice = message.body
    account = json.loads(CUSTOMERS.read_text())[invoice["customer"]]
    cents = int(invoice["cents"])
    logging.info("billed %d to %s at attempt %d", cents, account, message.attempt)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with Client() as client:
        client.topics.create("invoices")
        client.groups.create("billing", max_attempts=3, retry_backoff_min_ms=100, retry_backoff_max_ms=60_000)
        client.consumer("invoices", group="billing").run(bill, concurrency=2)

"""Works off a queue, meets its dead letters, and sends them back. Nothing in it is of Acklog:
`AWS_ENDPOINT_URL=http://127.0.0.1:8080 python orders.py`.
"""

import json
import time

import boto3

ORDERS = 50
ATTEMPTS = 3
GIVE_UP_SECONDS = 120

sqs = boto3.client("sqs", region_name="us-east-1")


class BrokenLedger:
    """Cannot book what costs more than it knows how to write down, until it is mended."""

    def __init__(self) -> None:
        self.booked: list[int] = []
        self.is_mended = False

    def book(self, order: dict[str, int]) -> None:
        if order["price"] > 40 and not self.is_mended:
            raise ValueError(f"{order['price']} is too much")
        self.booked.append(order["order"])


def make_queues() -> tuple[str, str]:
    """The queue, and that of its dead letters."""
    dead = sqs.create_queue(QueueName="orders-dead")["QueueUrl"]
    arn = arn_of(dead)
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": ATTEMPTS})
    orders = sqs.create_queue(QueueName="orders", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "30"})
    return orders["QueueUrl"], dead


def arn_of(url: str) -> str:
    found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(found["Attributes"]["QueueArn"])


def send_orders(url: str) -> None:
    for start in range(0, ORDERS, 10):
        entries = [
            {
                "Id": str(number),
                "MessageBody": json.dumps({"order": number, "price": number}),
                "MessageAttributes": {"source": {"DataType": "String", "StringValue": "shop"}},
            }
            for number in range(start, start + 10)
        ]
        answer = sqs.send_message_batch(QueueUrl=url, Entries=entries)
        assert not answer.get("Failed"), answer["Failed"]


def work(url: str, ledger: BrokenLedger) -> None:
    """Until nothing is left to do."""
    end = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < end:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)
        messages = answer.get("Messages", [])
        if not messages and count(url) == 0:
            return
        for message in messages:
            handle = message["ReceiptHandle"]
            try:
                ledger.book(json.loads(message["Body"]))
            except ValueError:
                sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=handle, VisibilityTimeout=0)
            else:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=handle)
    raise TimeoutError(f"{count(url)} messages are left in {url}")


def count(url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def main() -> None:
    orders, dead = make_queues()
    ledger = BrokenLedger()
    send_orders(orders)
    work(orders, ledger)
    print(f"{len(ledger.booked)} orders are booked, {count(dead)} are dead letters")
    ledger.is_mended = True
    sqs.start_message_move_task(SourceArn=arn_of(dead))
    end = time.monotonic() + GIVE_UP_SECONDS
    while len(set(ledger.booked)) < ORDERS and time.monotonic() < end:
        work(orders, ledger)
    print(f"{len(set(ledger.booked))} orders are booked, {count(dead)} are dead letters")


if __name__ == "__main__":
    main()

"""The worker, call by call as it was with boto3: `python -m from_sqs.receive_loop`."""

import logging

from acklog import Client
from acklog.errors import ReceiptStale
from acklog.messages import Message


def send_mail(message: Message) -> None:
    if message.body["to"] == "flaky@example.com" and message.attempt == 1:
        raise ConnectionError("the mail server did not answer")
    logging.info("mailed %s at attempt %d", message.body["to"], message.attempt)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with Client() as client:
        client.topics.create("emails")
        client.groups.create("mailer", visibility_ms=30_000, max_attempts=5)
        while True:
            received = client.receive("emails", group="mailer", max_messages=10, wait_s=20)
            for message in received:
                try:
                    send_mail(message)
                except Exception:
                    logging.exception("message %s comes again", message.message_id)
                    client.nack(message, delay_s=1)
                else:
                    try:
                        client.ack(message)
                    except ReceiptStale as error:
                        logging.warning("%s may be mailed twice: %s", message.message_id, error)

"""Works off a queue of SQS by Acklog's own API, beside workers that use SQS's: `python -m from_sqs.consumer`."""

import logging

from acklog import Client
from acklog.messages import Message


def send_mail(message: Message) -> None:
    if message.body["to"] == "flaky@example.com" and message.attempt == 1:
        raise ConnectionError("the mail server did not answer")
    logging.info("mailed %s at attempt %d", message.body["to"], message.attempt)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with Client() as client:
        client.consumer("emails", group="sqs.emails", nack_delay_s=1).run(send_mail, concurrency=10)

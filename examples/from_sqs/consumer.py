"""The same worker as one would write it here: `python -m from_sqs.consumer`."""

import logging

from acklog import Client

from .receive_loop import send_mail

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    with Client() as client:
        client.topics.create("emails")
        client.groups.create("mailer", max_attempts=5)
        client.consumer("emails", group="mailer", nack_delay_s=1).run(send_mail, concurrency=10)

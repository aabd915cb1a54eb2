"""A worker that can be stopped at any time: `python worker.py`."""

import logging
import time

from acklog import Client
from acklog.messages import Message

client = Client()


@client.handler("images", group="thumbnails", concurrency=4, visibility_s=60, stop_timeout_s=25)
def make_thumbnail(message: Message) -> None:
    time.sleep(message.body["seconds"])  # the work
    logging.info("made %s", message.body["image"])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    client.topics.create("images")
    with client:
        client.run()  # until SIGTERM or Ctrl-C

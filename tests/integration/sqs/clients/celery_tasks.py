"""Tasks of a Celery application whose broker is the server at SQS_URL. What they did is in the file LEDGER, a line
each."""

import os
import time

from celery import Celery

app = Celery("orders", broker=os.environ["SQS_URL"])
app.conf.update(
    task_default_queue=os.environ["SQS_QUEUE"],
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"region": "us-east-1", "wait_time_seconds": 2, "visibility_timeout": 5},
)


def note(text):
    with open(os.environ["LEDGER"], "a", encoding="utf-8") as ledger:
        ledger.write(f"{text}\n")


@app.task
def add(number):
    note(f"add {number}")


@app.task(bind=True, max_retries=3)
def flaky(self):
    note(f"flaky {self.request.retries}")
    if self.request.retries < 2:
        raise self.retry(countdown=1)


@app.task
def later(sent_s):
    note(f"later {time.time() - sent_s:.1f}")


@app.task
def long(name):
    """The first worker is killed within it; another one does it again."""
    note(f"begin {name}")
    if not os.path.exists(os.environ["LEDGER"] + ".killed"):
        time.sleep(600)
    note(f"end {name}")

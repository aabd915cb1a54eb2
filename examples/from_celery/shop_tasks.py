"""The tasks of a shop. The worker: `python -m from_celery.shop_tasks`."""

import logging
from pathlib import Path

from acklog import Client

from .tasks import RetryLaterError, Tasks

tasks = Tasks(Client(), "shop.tasks")


@tasks.task
def add(left: int, right: int) -> int:
    return left + right


@tasks.task
def charge(order: str, *, cents: int) -> str:
    if cents <= 0:
        raise ValueError(f"{order} costs {cents}")
    return f"{order} is paid"


@tasks.task
def read_invoice(path: str) -> str:
    if not Path(path).exists():
        raise RetryLaterError(delay_s=0.2)  # it is still being made
    return Path(path).read_text()


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    tasks.work()

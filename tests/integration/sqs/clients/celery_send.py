"""Sends one of each task of `celery_tasks`, and twenty plain ones."""

import time

from celery_tasks import add, flaky, later, long

for number in range(20):
    add.delay(number)
flaky.delay()
later.apply_async((time.time(),), countdown=3)
long.delay("slow")
print("ok")

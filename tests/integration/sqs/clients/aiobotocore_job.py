"""What an asyncio service does with aiobotocore, against the server that AWS_ENDPOINT_URL names: a hundred sends and
deletes at once, and long polls beside them."""

import asyncio
import os

from aiobotocore.session import get_session

MESSAGES = 100


async def main():
    async with get_session().create_client("sqs") as sqs:
        url = (await sqs.create_queue(QueueName=f"asyncio-{os.getpid()}"))["QueueUrl"]
        found = []

        async def consume():
            while len(found) < MESSAGES:
                answer = await sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=2)
                messages = answer.get("Messages", [])
                found.extend(message["Body"] for message in messages)
                await asyncio.gather(
                    *[sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"]) for message in messages]
                )

        consumers = [asyncio.create_task(consume()) for _ in range(4)]
        await asyncio.gather(
            *[sqs.send_message(QueueUrl=url, MessageBody=f"body {number}") for number in range(MESSAGES)]
        )
        await asyncio.wait_for(asyncio.gather(*consumers), 60)
        assert sorted(found) == sorted(f"body {number}" for number in range(MESSAGES))
        await sqs.delete_queue(QueueUrl=url)


if __name__ == "__main__":
    asyncio.run(main())
    print("ok")

"""What a service does with boto3, against the server that AWS_ENDPOINT_URL or the first argument names: by the JSON
protocol, or with an earlier botocore by the query protocol. Raises AssertionError where an answer is not what it would
get."""

import json
import os
import sys

import boto3

BODY = "Grüße & <xml> \U0001f600"
BYTES = b"\x00\x01\xfe\xff"

sqs = boto3.client("sqs", endpoint_url=sys.argv[1] if len(sys.argv) > 1 else os.environ["AWS_ENDPOINT_URL"])
prefix = f"python-{os.getpid()}"


def receive(url, count=10, wait_s=10):
    return sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=count,
        WaitTimeSeconds=wait_s,
        MessageAttributeNames=["All"],
        AttributeNames=["All"],
    ).get("Messages", [])


def code_of_missing_queue():
    try:
        return sqs.get_queue_url(QueueName=prefix)
    except sqs.exceptions.QueueDoesNotExist as error:
        return error.response["Error"]["Code"]


def standard_queue():
    url = sqs.create_queue(QueueName=prefix, Attributes={"VisibilityTimeout": "30"})["QueueUrl"]
    assert sqs.create_queue(QueueName=prefix, Attributes={"VisibilityTimeout": "30"})["QueueUrl"] == url
    assert sqs.get_queue_url(QueueName=prefix)["QueueUrl"] == url
    assert sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == [url]
    sent = sqs.send_message(
        QueueUrl=url,
        MessageBody=BODY,
        MessageAttributes={
            "source": {"DataType": "String", "StringValue": "shop"},
            "price": {"DataType": "Number", "StringValue": "12.50"},
            "blob": {"DataType": "Binary", "BinaryValue": BYTES},
        },
    )
    [message] = receive(url)
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], BODY)
    assert message["MessageAttributes"]["price"] == {"DataType": "Number", "StringValue": "12.50"}
    assert message["MessageAttributes"]["blob"]["BinaryValue"] == BYTES
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
    assert message["Attributes"]["ApproximateReceiveCount"] == "1"
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    [again] = receive(url)
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    sqs.delete_message(QueueUrl=url, ReceiptHandle=again["ReceiptHandle"])
    assert receive(url, wait_s=0) == []
    sqs.delete_queue(QueueUrl=url)
    assert code_of_missing_queue() == "AWS.SimpleQueueService.NonExistentQueue"


def batches_and_tags():
    url = sqs.create_queue(QueueName=f"{prefix}-batch", tags={"team": "shop"})["QueueUrl"]
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "shop"}
    entries = [{"Id": str(number), "MessageBody": f"body {number}"} for number in range(9)]
    entries.append({"Id": "later", "MessageBody": "later", "DelaySeconds": 1})
    assert len(sqs.send_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 10
    bodies = []
    while len(bodies) < 10:
        messages = receive(url)
        assert messages, f"after {bodies}"
        bodies += [message["Body"] for message in messages]
        handles = [
            {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]} for index, message in enumerate(messages)
        ]
        assert len(sqs.delete_message_batch(QueueUrl=url, Entries=handles)["Successful"]) == len(messages)
    assert sorted(bodies) == sorted(entry["MessageBody"] for entry in entries)
    sqs.purge_queue(QueueUrl=url)
    sqs.delete_queue(QueueUrl=url)


def ordered_queue():
    attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    url = sqs.create_queue(QueueName=f"{prefix}.fifo", Attributes=attributes)["QueueUrl"]
    for number in range(5):
        first = sqs.send_message(QueueUrl=url, MessageBody=f"step {number}", MessageGroupId="one")
        twin = sqs.send_message(QueueUrl=url, MessageBody=f"step {number}", MessageGroupId="one")
        assert (first["MessageId"], first["SequenceNumber"]) == (twin["MessageId"], twin["SequenceNumber"])
    messages = receive(url)
    assert [message["Body"] for message in messages] == [f"step {number}" for number in range(5)]
    numbers = [int(message["Attributes"]["SequenceNumber"]) for message in messages]
    assert numbers == sorted(set(numbers))
    sqs.delete_queue(QueueUrl=url)


def dead_letters():
    dead = sqs.create_queue(QueueName=f"{prefix}-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    attributes = {"RedrivePolicy": policy, "VisibilityTimeout": "0"}
    url = sqs.create_queue(QueueName=f"{prefix}-source", Attributes=attributes)["QueueUrl"]
    assert sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"] == [url]
    sent = sqs.send_message(QueueUrl=url, MessageBody="poison")
    for _ in range(2):
        assert len(receive(url)) == 1
    assert receive(url, wait_s=1) == []
    [letter] = receive(dead)
    assert (letter["Body"], letter["MessageId"]) == ("poison", sent["MessageId"])
    sqs.change_message_visibility(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"], VisibilityTimeout=0)
    if hasattr(sqs, "start_message_move_task"):
        sqs.start_message_move_task(SourceArn=arn)
        [moved] = receive(url, wait_s=20)
        assert (moved["Body"], moved["MessageId"]) == ("poison", sent["MessageId"])
    sqs.delete_queue(QueueUrl=url)
    sqs.delete_queue(QueueUrl=dead)


if __name__ == "__main__":
    standard_queue()
    batches_and_tags()
    ordered_queue()
    dead_letters()
    print("ok")

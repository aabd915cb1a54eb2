// What a service does with the JavaScript SDK, against the server that AWS_ENDPOINT_URL names. Exits with 1, and says
// why, where an answer is not what it would get.
import assert from "node:assert/strict";
import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  QueueDoesNotExist,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const client = new SQSClient({});
const prefix = `javascript-${process.pid}`;

async function standardQueue() {
  const { QueueUrl } = await client.send(
    new CreateQueueCommand({ QueueName: prefix, Attributes: { VisibilityTimeout: "30" } }),
  );
  assert.equal((await client.send(new GetQueueUrlCommand({ QueueName: prefix }))).QueueUrl, QueueUrl);
  const { QueueUrls } = await client.send(new ListQueuesCommand({ QueueNamePrefix: prefix }));
  assert.deepEqual(QueueUrls, [QueueUrl]);

  // The SDK compares the digests of bodies itself, and throws where they differ.
  const body = "Grüße & <xml> \u{1F600}";
  const sent = await client.send(
    new SendMessageCommand({
      QueueUrl,
      MessageBody: body,
      MessageAttributes: {
        source: { DataType: "String", StringValue: "shop" },
        price: { DataType: "Number", StringValue: "12.50" },
        blob: { DataType: "Binary", BinaryValue: new Uint8Array([0, 1, 254, 255]) },
      },
    }),
  );
  const { Messages } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl,
      WaitTimeSeconds: 10,
      MessageAttributeNames: ["All"],
      MessageSystemAttributeNames: ["All"],
    }),
  );
  assert.equal(Messages.length, 1);
  const [message] = Messages;
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.Body, body);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
  assert.equal(message.MessageAttributes.price.DataType, "Number");
  assert.equal(message.MessageAttributes.price.StringValue, "12.50");
  assert.deepEqual([...message.MessageAttributes.blob.BinaryValue], [0, 1, 254, 255]);
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);

  await client.send(
    new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 0 }),
  );
  const again = await client.send(
    new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 10, MessageSystemAttributeNames: ["All"] }),
  );
  assert.equal(again.Messages[0].Attributes.ApproximateReceiveCount, "2");
  await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: again.Messages[0].ReceiptHandle }));

  const batch = await client.send(
    new SendMessageBatchCommand({
      QueueUrl,
      Entries: [0, 1, 2].map((number) => ({ Id: `id-${number}`, MessageBody: `body ${number}` })),
    }),
  );
  assert.equal(batch.Successful.length, 3);
  const bodies = new Set();
  while (bodies.size < 3) {
    const received = await client.send(
      new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 10, MaxNumberOfMessages: 10 }),
    );
    assert.ok(received.Messages, "a message is missing");
    received.Messages.forEach((each) => bodies.add(each.Body));
    const deleted = await client.send(
      new DeleteMessageBatchCommand({
        QueueUrl,
        Entries: received.Messages.map((each, index) => ({ Id: `${index}`, ReceiptHandle: each.ReceiptHandle })),
      }),
    );
    assert.equal(deleted.Successful.length, received.Messages.length);
  }
  assert.deepEqual([...bodies].sort(), ["body 0", "body 1", "body 2"]);
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  assert.equal(Attributes.VisibilityTimeout, "30");
  assert.equal(Attributes.ApproximateNumberOfMessages, "0");
  await client.send(new DeleteQueueCommand({ QueueUrl }));
  await assert.rejects(client.send(new GetQueueUrlCommand({ QueueName: prefix })), QueueDoesNotExist);
}

async function fifoQueue() {
  const { QueueUrl } = await client.send(
    new CreateQueueCommand({
      QueueName: `${prefix}.fifo`,
      Attributes: { FifoQueue: "true", ContentBasedDeduplication: "true" },
    }),
  );
  const numbers = [];
  for (let number = 0; number < 5; number++) {
    const sent = await client.send(
      new SendMessageCommand({ QueueUrl, MessageBody: `step ${number}`, MessageGroupId: "one" }),
    );
    const twin = await client.send(
      new SendMessageCommand({ QueueUrl, MessageBody: `step ${number}`, MessageGroupId: "one" }),
    );
    assert.equal(twin.MessageId, sent.MessageId);
    assert.equal(twin.SequenceNumber, sent.SequenceNumber);
    numbers.push(sent.SequenceNumber);
  }
  assert.deepEqual([...numbers].sort(), numbers);
  const { Messages } = await client.send(
    new ReceiveMessageCommand({
      QueueUrl,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 10,
      MessageSystemAttributeNames: ["All"],
    }),
  );
  assert.deepEqual(Messages.map((each) => each.Body), [0, 1, 2, 3, 4].map((number) => `step ${number}`));
  assert.ok(Messages.every((each) => each.Attributes.MessageGroupId === "one"));
  await client.send(new DeleteQueueCommand({ QueueUrl }));
}

await standardQueue();
await fifoQueue();
console.log("ok");

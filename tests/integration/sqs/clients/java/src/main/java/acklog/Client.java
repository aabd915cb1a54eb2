package acklog;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.sqs.SqsAsyncClient;
import software.amazon.awssdk.services.sqs.SqsClient;
import software.amazon.awssdk.services.sqs.batchmanager.SqsAsyncBatchManager;
import software.amazon.awssdk.services.sqs.model.Message;
import software.amazon.awssdk.services.sqs.model.MessageAttributeValue;
import software.amazon.awssdk.services.sqs.model.MessageSystemAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueAttributeName;
import software.amazon.awssdk.services.sqs.model.QueueDoesNotExistException;
import software.amazon.awssdk.services.sqs.model.SendMessageResponse;

/**
 * What a service does with the Java SDK, its request batching included, against the server that AWS_ENDPOINT_URL names.
 * Exits with 1, and says why, where an answer is not what it would get.
 */
public final class Client {
  private final SqsClient sqs = SqsClient.create();
  private final String prefix = "java-" + ProcessHandle.current().pid();

  public static void main(String[] arguments) {
    Client client = new Client();
    client.standardQueue();
    client.fifoQueue();
    client.batchManager();
    System.out.println("ok");
    System.exit(0);
  }

  private static void check(boolean isRight, String what) {
    if (!isRight) {
      System.err.println(what);
      System.exit(1);
    }
  }

  private String queue(String name, Map<QueueAttributeName, String> attributes) {
    return sqs.createQueue(each -> each.queueName(name).attributes(attributes)).queueUrl();
  }

  private List<Message> receive(String url) {
    return sqs.receiveMessage(
            each ->
                each.queueUrl(url)
                    .maxNumberOfMessages(10)
                    .waitTimeSeconds(10)
                    .messageAttributeNames("All")
                    .messageSystemAttributeNames(MessageSystemAttributeName.ALL))
        .messages();
  }

  private void standardQueue() {
    String url = queue(prefix, Map.of(QueueAttributeName.VISIBILITY_TIMEOUT, "30"));
    String body = "Grüße & <xml> \uD83D\uDE00";
    byte[] bytes = {0, 1, -2, -1};
    // The SDK compares the digests of bodies and attributes itself, and throws where they differ.
    SendMessageResponse sent =
        sqs.sendMessage(
            each ->
                each.queueUrl(url)
                    .messageBody(body)
                    .messageAttributes(
                        Map.of(
                            "price",
                            MessageAttributeValue.builder().dataType("Number").stringValue("12.50").build(),
                            "blob",
                            MessageAttributeValue.builder()
                                .dataType("Binary")
                                .binaryValue(SdkBytes.fromByteArray(bytes))
                                .build())));
    List<Message> messages = receive(url);
    check(messages.size() == 1, "one message was sent, and so many came: " + messages.size());
    Message message = messages.get(0);
    check(message.messageId().equals(sent.messageId()), "another id: " + message.messageId());
    check(message.body().equals(body), "another body: " + message.body());
    check(message.messageAttributes().get("price").stringValue().equals("12.50"), "another price");
    check(message.messageAttributes().get("blob").binaryValue().equals(SdkBytes.fromByteArray(bytes)), "other bytes");
    sqs.changeMessageVisibility(
        each -> each.queueUrl(url).receiptHandle(message.receiptHandle()).visibilityTimeout(0));
    List<Message> again = receive(url);
    check(again.size() == 1, "it did not come back");
    String count = again.get(0).attributes().get(MessageSystemAttributeName.APPROXIMATE_RECEIVE_COUNT);
    check(count.equals("2"), "another count: " + count);
    sqs.deleteMessage(each -> each.queueUrl(url).receiptHandle(again.get(0).receiptHandle()));
    sqs.deleteQueue(each -> each.queueUrl(url));
    try {
      sqs.getQueueUrl(each -> each.queueName(prefix));
      check(false, "the deleted queue is there");
    } catch (QueueDoesNotExistException expected) {
      // as it should
    }
  }

  private void fifoQueue() {
    String url =
        queue(
            prefix + ".fifo",
            Map.of(QueueAttributeName.FIFO_QUEUE, "true", QueueAttributeName.CONTENT_BASED_DEDUPLICATION, "true"));
    for (int number = 0; number < 5; number++) {
      String body = "step " + number;
      String first = sqs.sendMessage(each -> each.queueUrl(url).messageBody(body).messageGroupId("one")).messageId();
      String twin = sqs.sendMessage(each -> each.queueUrl(url).messageBody(body).messageGroupId("one")).messageId();
      check(first.equals(twin), "a duplicate has another id");
    }
    List<String> bodies = receive(url).stream().map(Message::body).toList();
    check(bodies.equals(List.of("step 0", "step 1", "step 2", "step 3", "step 4")), "out of order: " + bodies);
    sqs.deleteQueue(each -> each.queueUrl(url));
  }

  /** Single sends and receives that the SDK puts together. */
  private void batchManager() {
    String url = queue(prefix + "-batched", Map.of());
    try (SqsAsyncClient client = SqsAsyncClient.create();
        SqsAsyncBatchManager batches = client.batchManager()) {
      List<CompletableFuture<SendMessageResponse>> sends = new ArrayList<>();
      Set<String> wanted = new TreeSet<>();
      for (int number = 0; number < 25; number++) {
        String body = "batched " + number;
        wanted.add(body);
        sends.add(batches.sendMessage(each -> each.queueUrl(url).messageBody(body)));
      }
      sends.forEach(CompletableFuture::join);
      Set<String> found = new TreeSet<>();
      long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      while (found.size() < wanted.size() && System.nanoTime() < end) {
        for (Message message : batches.receiveMessage(each -> each.queueUrl(url)).join().messages()) {
          found.add(message.body());
          batches.deleteMessage(each -> each.queueUrl(url).receiptHandle(message.receiptHandle())).join();
        }
      }
      check(found.equals(wanted), "other messages: " + found);
    }
    sqs.deleteQueue(each -> each.queueUrl(url));
  }
}

// What a service does with the Go SDK, against the server that AWS_ENDPOINT_URL names. Exits with 1, and says why,
// where an answer is not what it would get.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

type job struct {
	context context.Context
	client  *sqs.Client
	prefix  string
}

func check(isRight bool, what string, values ...any) {
	if !isRight {
		fmt.Fprintln(os.Stderr, append([]any{what}, values...)...)
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	check(err == nil, "a call failed:", err)
	return value
}

func (j job) queue(name string, attributes map[string]string) *string {
	created := must(j.client.CreateQueue(j.context, &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes}))
	return created.QueueUrl
}

func (j job) receive(url *string) []types.Message {
	received := must(j.client.ReceiveMessage(j.context, &sqs.ReceiveMessageInput{
		QueueUrl:                    url,
		MaxNumberOfMessages:         10,
		WaitTimeSeconds:             10,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	}))
	return received.Messages
}

func (j job) standardQueue() {
	url := j.queue(j.prefix, map[string]string{"VisibilityTimeout": "30"})
	body := "Grüße & <xml> \U0001F600"
	// The SDK compares the digests of bodies itself, and fails where they differ.
	sent := must(j.client.SendMessage(j.context, &sqs.SendMessageInput{
		QueueUrl:    url,
		MessageBody: &body,
		MessageAttributes: map[string]types.MessageAttributeValue{
			"price": {DataType: aws.String("Number"), StringValue: aws.String("12.50")},
			"blob":  {DataType: aws.String("Binary"), BinaryValue: []byte{0, 1, 254, 255}},
		},
	}))
	messages := j.receive(url)
	check(len(messages) == 1, "one message was sent, and so many came:", len(messages))
	message := messages[0]
	check(*message.MessageId == *sent.MessageId, "another id:", *message.MessageId)
	check(*message.Body == body, "another body:", *message.Body)
	check(*message.MessageAttributes["price"].StringValue == "12.50", "another price")
	check(string(message.MessageAttributes["blob"].BinaryValue) == "\x00\x01\xfe\xff", "other bytes")
	must(j.client.ChangeMessageVisibility(j.context, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: url, ReceiptHandle: message.ReceiptHandle, VisibilityTimeout: 0,
	}))
	again := j.receive(url)
	check(len(again) == 1, "it did not come back")
	check(again[0].Attributes["ApproximateReceiveCount"] == "2", "another count:", again[0].Attributes)
	must(j.client.DeleteMessage(j.context, &sqs.DeleteMessageInput{
		QueueUrl: url, ReceiptHandle: again[0].ReceiptHandle,
	}))
	must(j.client.DeleteQueue(j.context, &sqs.DeleteQueueInput{QueueUrl: url}))
	_, err := j.client.GetQueueUrl(j.context, &sqs.GetQueueUrlInput{QueueName: &j.prefix})
	var gone *types.QueueDoesNotExist
	check(errors.As(err, &gone), "another error:", err)
}

func (j job) fifoQueue() {
	url := j.queue(j.prefix+".fifo", map[string]string{"FifoQueue": "true", "ContentBasedDeduplication": "true"})
	group := "one"
	for number := range 5 {
		body := fmt.Sprint("step ", number)
		input := &sqs.SendMessageInput{QueueUrl: url, MessageBody: &body, MessageGroupId: &group}
		first := must(j.client.SendMessage(j.context, input))
		twin := must(j.client.SendMessage(j.context, input))
		check(*first.MessageId == *twin.MessageId, "a duplicate has another id")
	}
	messages := j.receive(url)
	check(len(messages) == 5, "five messages were sent, and so many came:", len(messages))
	for number, message := range messages {
		check(*message.Body == fmt.Sprint("step ", number), "out of order:", *message.Body)
	}
	must(j.client.DeleteQueue(j.context, &sqs.DeleteQueueInput{QueueUrl: url}))
}

func main() {
	background := context.Background()
	client := sqs.NewFromConfig(must(config.LoadDefaultConfig(background)))
	j := job{background, client, fmt.Sprint("go-", os.Getpid())}
	j.standardQueue()
	j.fifoQueue()
	fmt.Println("ok")
}

package main

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	rabbitQueue    = "load"
	rabbitPrefetch = 2000
	rabbitWait     = time.Second
	rabbitLinger   = time.Millisecond
)

// A quorum queue with confirms. Acks have no answer there: Ack returns when it is sent.
type rabbit struct{ address string }

func newRabbit(address string) Broker { return &rabbit{address} }

func (r *rabbit) Prepare(context.Context) error {
	channel, err := r.channel()
	if err != nil {
		return err
	}
	if _, err := channel.QueueDelete(rabbitQueue, false, false, false); err != nil {
		return err
	}
	_, err = channel.QueueDeclare(rabbitQueue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	return err
}

func (r *rabbit) channel() (*amqp.Channel, error) {
	connection, err := amqp.Dial("amqp://guest:guest@" + r.address + "/")
	if err != nil {
		return nil, err
	}
	return connection.Channel()
}

func (r *rabbit) Sender(context.Context) (Sender, error) {
	channel, err := r.channel()
	if err != nil {
		return nil, err
	}
	return &rabbitSender{channel}, channel.Confirm(false)
}

func (r *rabbit) Receiver(context.Context) (Receiver, error) {
	channel, err := r.channel()
	if err != nil {
		return nil, err
	}
	if err := channel.Qos(rabbitPrefetch, 0, false); err != nil {
		return nil, err
	}
	deliveries, err := channel.Consume(rabbitQueue, "", false, false, false, false, nil)
	return &rabbitReceiver{deliveries}, err
}

type rabbitSender struct{ channel *amqp.Channel }

func (s *rabbitSender) Send(bodies [][]byte) error {
	confirmations := make([]*amqp.DeferredConfirmation, len(bodies))
	for index, body := range bodies {
		message := amqp.Publishing{DeliveryMode: amqp.Persistent, Body: body}
		confirmation, err := s.channel.PublishWithDeferredConfirm("", rabbitQueue, false, false, message)
		if err != nil {
			return err
		}
		confirmations[index] = confirmation
	}
	for _, confirmation := range confirmations {
		if !confirmation.Wait() {
			return amqp.ErrClosed
		}
	}
	return nil
}

type rabbitReceiver struct{ deliveries <-chan amqp.Delivery }

func (r *rabbitReceiver) Receive(max int) (Messages, error) {
	var messages Messages
	wait := rabbitWait
	for len(messages.Bodies) < max {
		select {
		case delivery, isOpen := <-r.deliveries:
			if !isOpen {
				return messages, amqp.ErrClosed
			}
			messages.Bodies = append(messages.Bodies, delivery.Body)
			messages.Settlement = delivery
			wait = rabbitLinger
		case <-time.After(wait):
			return messages, nil
		}
	}
	return messages, nil
}

func (r *rabbitReceiver) Ack(messages Messages) error {
	return messages.Settlement.(amqp.Delivery).Ack(true)
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const natsStream, natsSubject, natsConsumer = "LOAD", "load", "load"

// A stream in files with one durable pull consumer. Each message is acknowledged by itself, and the last of a batch is
// waited for: the server handles a connection's acks in their order.
type natsBroker struct{ address string }

func newNats(address string) Broker { return &natsBroker{address} }

func (n *natsBroker) Prepare(ctx context.Context) error {
	stream, err := n.connect()
	if err != nil {
		return err
	}
	if err := stream.DeleteStream(ctx, natsStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	settings := jetstream.StreamConfig{Name: natsStream, Subjects: []string{natsSubject}, Storage: jetstream.FileStorage}
	if _, err = stream.CreateStream(ctx, settings); err != nil {
		return err
	}
	consumer := jetstream.ConsumerConfig{Durable: natsConsumer, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1}
	_, err = stream.CreateConsumer(ctx, natsStream, consumer)
	return err
}

func (n *natsBroker) connect() (jetstream.JetStream, error) {
	connection, err := nats.Connect("nats://" + n.address)
	if err != nil {
		return nil, err
	}
	return jetstream.New(connection, jetstream.WithPublishAsyncMaxPending(10_000))
}

func (n *natsBroker) Sender(ctx context.Context) (Sender, error) {
	stream, err := n.connect()
	return &natsSender{stream, ctx}, err
}

func (n *natsBroker) Receiver(ctx context.Context) (Receiver, error) {
	stream, err := n.connect()
	if err != nil {
		return nil, err
	}
	consumer, err := stream.Consumer(ctx, natsStream, natsConsumer)
	return &natsReceiver{consumer, ctx}, err
}

type natsSender struct {
	stream jetstream.JetStream
	ctx    context.Context
}

func (s *natsSender) Send(bodies [][]byte) error {
	futures := make([]jetstream.PubAckFuture, len(bodies))
	for index, body := range bodies {
		future, err := s.stream.PublishAsync(natsSubject, body)
		if err != nil {
			return err
		}
		futures[index] = future
	}
	for _, future := range futures {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			return err
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
	return nil
}

type natsReceiver struct {
	consumer jetstream.Consumer
	ctx      context.Context
}

func (r *natsReceiver) Receive(max int) (Messages, error) {
	var messages Messages
	first, err := r.consumer.Fetch(1, jetstream.FetchMaxWait(time.Second))
	if err != nil {
		return messages, err
	}
	var received []jetstream.Msg
	for message := range first.Messages() {
		received = append(received, message)
	}
	if len(received) == 1 && max > 1 {
		more, err := r.consumer.FetchNoWait(max - 1)
		if err != nil {
			return messages, err
		}
		for message := range more.Messages() {
			received = append(received, message)
		}
	}
	for _, message := range received {
		messages.Bodies = append(messages.Bodies, message.Data())
	}
	messages.Settlement = received
	return messages, nil
}

func (r *natsReceiver) Ack(messages Messages) error {
	received := messages.Settlement.([]jetstream.Msg)
	last := len(received) - 1
	for _, message := range received[:last] {
		if err := message.Ack(); err != nil {
			return err
		}
	}
	return received[last].DoubleAck(r.ctx)
}

package main

import "context"

// Broker is one kind of server under load. Every connection is made by Sender or Receiver, and used by one goroutine.
type Broker interface {
	// Prepare makes the topic, queue, stream or table that the load goes to.
	Prepare(ctx context.Context) error
	Sender(ctx context.Context) (Sender, error)
	Receiver(ctx context.Context) (Receiver, error)
}

// Sender stores messages.
type Sender interface {
	// Send returns when the broker has said of every body that it is stored.
	Send(bodies [][]byte) error
}

// Receiver takes messages and settles them.
type Receiver interface {
	// Receive returns up to max messages; none if there were none for about a second.
	Receive(max int) (Messages, error)
	// Ack returns when the broker has answered, where its protocol has an answer for that.
	Ack(messages Messages) error
}

// Messages were received in one go. Settlement is what the broker wants to hear of them.
type Messages struct {
	Bodies     [][]byte
	Settlement any
}

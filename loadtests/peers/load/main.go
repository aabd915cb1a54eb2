// Load for one durable broker, over its own protocol: each scenario is the same for all of them, and what counts as
// stored or settled is what the broker answers.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"
)

// A broker's client may wait for ever for an answer: this much after the limit the program ends in any case.
const limitGrace = 2 * time.Second

var brokers = map[string]func(address string) Broker{
	"acklog":   newAcklog,
	"kafka":    newKafka,
	"nats":     newNats,
	"postgres": newPostgres,
	"rabbitmq": newRabbit,
	"redis":    newRedis,
}

var scenarios = map[string]func(context.Context, Broker, Load) (Result, error){
	"send": send, "receive": receive, "paced": paced, "both": both,
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	kind := flag.String("broker", "acklog", "acklog, kafka, nats, postgres, rabbitmq or redis")
	address := flag.String("address", "", "host and port, or what the broker's client takes")
	scenario := flag.String("scenario", "send", "send, receive, paced or both")
	load := Load{}
	flag.IntVar(&load.Connections, "connections", 64, "of senders, and as many of receivers")
	flag.IntVar(&load.Batch, "batch", 1, "messages a call")
	flag.IntVar(&load.BodyBytes, "body-bytes", 100, "of each message")
	flag.IntVar(&load.Messages, "messages", 100_000, "receive: stored before")
	flag.IntVar(&load.Rate, "rate", 1000, "paced, both: messages a second")
	flag.DurationVar(&load.Duration, "duration", 5*time.Second, "send, paced, both")
	limit := flag.Duration("limit", 90*time.Second, "for all of it, with what is stored before")
	flag.Parse()
	makeBroker, isBroker := brokers[*kind]
	do, isScenario := scenarios[*scenario]
	if !isBroker || !isScenario || flag.NArg() > 0 {
		return fmt.Errorf("there is no broker %q, no scenario %q, or an argument too many: %v", *kind, *scenario, flag.Args())
	}
	if load.Connections < 1 || load.Batch < 1 || load.Rate < 1 || load.BodyBytes < stampLength || load.Messages < 1 {
		return fmt.Errorf("numbers are from 1, --body-bytes from %d", stampLength)
	}
	time.AfterFunc(*limit+limitGrace, func() {
		fmt.Fprintf(os.Stderr, "%s on %s was not done within %s\n", *scenario, *kind, *limit)
		os.Exit(1)
	})
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	broker := makeBroker(*address)
	if err := broker.Prepare(ctx); err != nil {
		return err
	}
	result, err := do(ctx, broker, load)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

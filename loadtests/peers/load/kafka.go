package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const kafkaTopic = "load"

var errNoAcks = errors.New("a consumer of Kafka settles positions, not messages: there is nothing to compare")

// A topic of four partitions with flush.messages=1, acks=all; every sender is a producer of its own.
type kafka struct{ address string }

func newKafka(address string) Broker { return &kafka{address} }

func (k *kafka) Prepare(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.address))
	if err != nil {
		return err
	}
	defer client.Close()
	admin, synced := kadm.NewClient(client), "1"
	_, err = admin.CreateTopic(ctx, 4, 1, map[string]*string{"flush.messages": &synced}, kafkaTopic)
	if errors.Is(err, kerr.TopicAlreadyExists) {
		return nil
	}
	return err
}

func (k *kafka) Sender(ctx context.Context) (Sender, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(k.address), kgo.DefaultProduceTopic(kafkaTopic), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	return &kafkaSender{client, ctx}, err
}

func (k *kafka) Receiver(context.Context) (Receiver, error) { return nil, errNoAcks }

type kafkaSender struct {
	client *kgo.Client
	ctx    context.Context
}

func (s *kafkaSender) Send(bodies [][]byte) error {
	records := make([]*kgo.Record, len(bodies))
	for index, body := range bodies {
		records[index] = &kgo.Record{Value: body}
	}
	return s.client.ProduceSync(s.ctx, records...).FirstErr()
}

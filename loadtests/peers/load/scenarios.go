package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	warmUp     = time.Second
	fillBatch  = 500
	fillers    = 8
	endToEnd   = 10 // messages a receiver takes at most
	drainLimit = 30 * time.Second
)

// Load is what to do: which fields count depends on the scenario.
type Load struct {
	Connections int
	Batch       int
	BodyBytes   int
	Messages    int
	Rate        int
	Duration    time.Duration
}

// Result is printed as JSON. Rates are messages a second, latencies milliseconds from when a message was to be sent.
type Result struct {
	Scenario string `json:"scenario"`
	Messages int64  `json:"messages"`
	// AllMessages were sent with those of the warm-up, and the last one of each connection.
	AllMessages int64   `json:"allMessages,omitempty"`
	Seconds     float64 `json:"seconds"`
	PerSecond   float64 `json:"perSecond"`
	P50Ms       float64 `json:"p50Ms,omitempty"`
	P99Ms       float64 `json:"p99Ms,omitempty"`
	StartedNs   int64   `json:"startedNs"`
	FinishedNs  int64   `json:"finishedNs"`
}

func resultOf(scenario string, messages int64, started, finished time.Time, latencies *Latencies) Result {
	seconds := finished.Sub(started).Seconds()
	result := Result{
		Scenario: scenario, Messages: messages, Seconds: seconds, PerSecond: float64(messages) / seconds,
		StartedNs: started.UnixNano(), FinishedNs: finished.UnixNano(),
	}
	if latencies != nil {
		result.P50Ms, result.P99Ms = latencies.milliseconds(50), latencies.milliseconds(99)
	}
	return result
}

// send has every connection send one batch after the other; what is answered after the warm-up is counted.
func send(ctx context.Context, broker Broker, load Load) (Result, error) {
	senders, err := sendersOf(ctx, broker, load.Connections)
	if err != nil {
		return Result{}, err
	}
	started := time.Now().Add(warmUp)
	finished := started.Add(load.Duration)
	var sent, all atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, sender := range senders {
		group.Go(func() error {
			batch := batchOf(load.Batch, load.BodyBytes)
			for ctx.Err() == nil {
				if err := sender.Send(batch); err != nil {
					return err
				}
				all.Add(int64(load.Batch))
				now := time.Now()
				if now.After(finished) {
					return nil
				}
				if now.After(started) {
					sent.Add(int64(load.Batch))
				}
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	result := resultOf("send", sent.Load(), started, finished, nil)
	result.AllMessages = all.Load()
	return result, err
}

// receive takes and settles what was stored before, until all of it is done.
func receive(ctx context.Context, broker Broker, load Load) (Result, error) {
	if err := fill(ctx, broker, load); err != nil {
		return Result{}, err
	}
	receivers, err := receiversOf(ctx, broker, load.Connections)
	if err != nil {
		return Result{}, err
	}
	var done atomic.Int64
	var finished atomic.Int64
	started := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for _, receiver := range receivers {
		group.Go(func() error {
			for done.Load() < int64(load.Messages) && ctx.Err() == nil {
				messages, err := receiver.Receive(load.Batch)
				if err != nil {
					return err
				}
				if len(messages.Bodies) == 0 {
					if time.Since(started) > drainLimit+load.Duration {
						return fmt.Errorf("%d of %d came", done.Load(), load.Messages)
					}
					continue
				}
				if err := receiver.Ack(messages); err != nil {
					return err
				}
				done.Add(int64(len(messages.Bodies)))
				finished.Store(time.Now().UnixNano())
			}
			return ctx.Err()
		})
	}
	err = group.Wait()
	return resultOf("receive", done.Load(), started, time.Unix(0, finished.Load()), nil), err
}

func fill(ctx context.Context, broker Broker, load Load) error {
	senders, err := sendersOf(ctx, broker, fillers)
	if err != nil {
		return err
	}
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, sender := range senders {
		group.Go(func() error {
			for ctx.Err() == nil {
				count := min(int64(load.Messages)-next.Add(fillBatch)+fillBatch, fillBatch)
				if count <= 0 {
					return nil
				}
				if err := sender.Send(batchOf(int(count), load.BodyBytes)); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// paced sends single messages at a rate; each has a moment at which it was to be sent, and is late from then on.
func paced(ctx context.Context, broker Broker, load Load) (Result, error) {
	senders, err := sendersOf(ctx, broker, load.Connections)
	if err != nil {
		return Result{}, err
	}
	latencies := &Latencies{}
	started, err := pace(ctx, senders, load, func(intended time.Time) {
		latencies.add(time.Since(intended))
	})
	return resultOf("paced", int64(latencies.count()), started, time.Now(), latencies), err
}

// both sends at a rate while receivers take and settle: a message is done when its ack was answered.
func both(ctx context.Context, broker Broker, load Load) (Result, error) {
	senders, err := sendersOf(ctx, broker, load.Connections)
	if err != nil {
		return Result{}, err
	}
	receivers, err := receiversOf(ctx, broker, load.Connections)
	if err != nil {
		return Result{}, err
	}
	latencies := &Latencies{}
	wanted := load.Rate * int(load.Duration.Seconds())
	limit := time.Now().Add(load.Duration + drainLimit)
	group, groupCtx := errgroup.WithContext(ctx)
	for _, receiver := range receivers {
		group.Go(func() error {
			for latencies.count() < wanted && groupCtx.Err() == nil {
				messages, err := receiver.Receive(endToEnd)
				if err != nil {
					return err
				}
				if len(messages.Bodies) == 0 {
					if time.Now().After(limit) {
						return fmt.Errorf("%d of %d came", latencies.count(), wanted)
					}
					continue
				}
				if err := receiver.Ack(messages); err != nil {
					return err
				}
				now := time.Now()
				for _, body := range messages.Bodies {
					intended, err := intendedOf(body)
					if err != nil {
						return err
					}
					latencies.add(now.Sub(intended))
				}
			}
			return groupCtx.Err()
		})
	}
	started, paceErr := pace(groupCtx, senders, load, func(time.Time) {})
	err = group.Wait() // first: where a receiver failed, senders were only told to stop
	if err == nil {
		err = paceErr
	}
	return resultOf("both", int64(latencies.count()), started, time.Now(), latencies), err
}

func pace(ctx context.Context, senders []Sender, load Load, sent func(time.Time)) (time.Time, error) {
	wanted := int64(load.Rate * int(load.Duration.Seconds()))
	interval := time.Second / time.Duration(load.Rate)
	started := time.Now().Add(100 * time.Millisecond)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, sender := range senders {
		group.Go(func() error {
			for ctx.Err() == nil {
				index := next.Add(1) - 1
				if index >= wanted {
					return nil
				}
				intended := started.Add(time.Duration(index) * interval)
				time.Sleep(time.Until(intended))
				if err := sender.Send([][]byte{bodyOf(intended, load.BodyBytes)}); err != nil {
					return err
				}
				sent(intended)
			}
			return ctx.Err()
		})
	}
	return started, group.Wait()
}

func sendersOf(ctx context.Context, broker Broker, count int) ([]Sender, error) {
	senders := make([]Sender, count)
	for index := range senders {
		sender, err := broker.Sender(ctx)
		if err != nil {
			return nil, err
		}
		senders[index] = sender
	}
	return senders, nil
}

func receiversOf(ctx context.Context, broker Broker, count int) ([]Receiver, error) {
	receivers := make([]Receiver, count)
	for index := range receivers {
		receiver, err := broker.Receiver(ctx)
		if err != nil {
			return nil, err
		}
		receivers[index] = receiver
	}
	return receivers, nil
}

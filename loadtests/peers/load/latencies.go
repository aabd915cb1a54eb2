package main

import (
	"slices"
	"sync"
	"time"
)

// Latencies are kept one by one: a run is bounded in messages.
type Latencies struct {
	mutex     sync.Mutex
	durations []time.Duration
}

func (l *Latencies) add(duration time.Duration) {
	l.mutex.Lock()
	l.durations = append(l.durations, duration)
	l.mutex.Unlock()
}

func (l *Latencies) count() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.durations)
}

// milliseconds is a percentile of what was added, 0 where nothing was.
func (l *Latencies) milliseconds(percent float64) float64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.durations) == 0 {
		return 0
	}
	slices.Sort(l.durations)
	index := min(int(float64(len(l.durations))*percent/100), len(l.durations)-1)
	return float64(l.durations[index].Microseconds()) / 1000
}

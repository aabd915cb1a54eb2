package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
)

const redisStream, redisGroup = "load", "load"

// A stream with one consumer group; a batch is one write of as many commands.
type redis struct {
	address   string
	consumers atomic.Int64
}

func newRedis(address string) Broker { return &redis{address: address} }

func (r *redis) Prepare(ctx context.Context) error {
	connection, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.socket.Close()
	if _, err := connection.ask("DEL", redisStream); err != nil {
		return err
	}
	_, err = connection.ask("XGROUP", "CREATE", redisStream, redisGroup, "0", "MKSTREAM")
	return err
}

func (r *redis) Sender(ctx context.Context) (Sender, error) { return r.connect(ctx) }

func (r *redis) Receiver(ctx context.Context) (Receiver, error) { return r.connect(ctx) }

func (r *redis) connect(ctx context.Context) (*redisConnection, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("consumer-%d", r.consumers.Add(1))
	return &redisConnection{socket, bufio.NewReaderSize(socket, 1<<16), name, nil}, nil
}

type redisConnection struct {
	socket   net.Conn
	reader   *bufio.Reader
	consumer string
	buffer   []byte
}

func (c *redisConnection) add(words ...string) {
	c.buffer = fmt.Appendf(c.buffer, "*%d\r\n", len(words))
	for _, word := range words {
		c.buffer = append(strconv.AppendInt(append(c.buffer, '$'), int64(len(word)), 10), "\r\n"...)
		c.buffer = append(append(c.buffer, word...), "\r\n"...)
	}
}

func (c *redisConnection) flush() error {
	_, err := c.socket.Write(c.buffer)
	c.buffer = c.buffer[:0]
	return err
}

func (c *redisConnection) ask(words ...string) (any, error) {
	c.add(words...)
	if err := c.flush(); err != nil {
		return nil, err
	}
	return c.answer()
}

// answer is nil, an int64, a string or a list of answers.
func (c *redisConnection) answer() (any, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(line, "\r\n")
	switch text[0] {
	case '+':
		return text[1:], nil
	case '-':
		return nil, errors.New(text[1:])
	}
	number, err := strconv.ParseInt(text[1:], 10, 64)
	if err != nil || text[0] == ':' {
		return number, err
	}
	if number < 0 {
		return nil, nil
	}
	if text[0] == '$' {
		body := make([]byte, number+2)
		_, err := io.ReadFull(c.reader, body)
		return string(body[:number]), err
	}
	list := make([]any, number)
	for index := range list {
		if list[index], err = c.answer(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (c *redisConnection) Send(bodies [][]byte) error {
	for _, body := range bodies {
		c.add("XADD", redisStream, "*", "body", string(body))
	}
	if err := c.flush(); err != nil {
		return err
	}
	for range bodies {
		if _, err := c.answer(); err != nil {
			return err
		}
	}
	return nil
}

func (c *redisConnection) Receive(max int) (Messages, error) {
	count := strconv.Itoa(max)
	found, err := c.ask(
		"XREADGROUP", "GROUP", redisGroup, c.consumer, "COUNT", count, "BLOCK", "1000", "STREAMS", redisStream, ">")
	if err != nil || found == nil {
		return Messages{}, err
	}
	entries := found.([]any)[0].([]any)[1].([]any)
	bodies, ids := make([][]byte, len(entries)), make([]string, len(entries))
	for index, entry := range entries {
		ids[index] = entry.([]any)[0].(string)
		bodies[index] = []byte(entry.([]any)[1].([]any)[1].(string))
	}
	return Messages{bodies, ids}, nil
}

func (c *redisConnection) Ack(messages Messages) error {
	words := append([]string{"XACK", redisStream, redisGroup}, messages.Settlement.([]string)...)
	_, err := c.ask(words...)
	return err
}

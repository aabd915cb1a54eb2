package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
)

const acklogTopic, acklogGroup = "load", "load"

// A topic of four partitions over HTTP, a connection kept open for each sender and receiver.
type acklog struct{ address string }

func newAcklog(address string) Broker { return &acklog{address} }

func (a *acklog) Prepare(ctx context.Context) error {
	connection, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer connection.socket.Close()
	if _, err := connection.ask("DELETE", "/topics/"+acklogTopic, nil); err != nil && !isStatus(err, 404) {
		return err
	}
	if _, err := connection.ask("PUT", "/topics/"+acklogTopic, []byte(`{"partitions":4}`)); err != nil {
		return err
	}
	if _, err := connection.ask("DELETE", "/groups/"+acklogGroup, nil); err != nil && !isStatus(err, 404) {
		return err
	}
	_, err = connection.ask("PUT", "/groups/"+acklogGroup, []byte(`{"settings":{"maxInFlight":100000}}`))
	return err
}

func (a *acklog) Sender(ctx context.Context) (Sender, error) { return a.connect(ctx) }

func (a *acklog) Receiver(ctx context.Context) (Receiver, error) { return a.connect(ctx) }

func (a *acklog) connect(ctx context.Context) (*acklogConnection, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.address)
	if err != nil {
		return nil, err
	}
	return &acklogConnection{socket: socket, reader: bufio.NewReaderSize(socket, 1<<16)}, nil
}

type acklogConnection struct {
	socket  net.Conn
	reader  *bufio.Reader
	request []byte
	body    []byte
}

type statusError struct {
	status int
	answer string
}

func (e statusError) Error() string { return fmt.Sprintf("HTTP %d: %.300s", e.status, e.answer) }

func isStatus(err error, status int) bool {
	found, is := err.(statusError)
	return is && found.status == status
}

// ask returns the answer's body, which is good until the next call.
func (c *acklogConnection) ask(method, path string, body []byte) ([]byte, error) {
	c.request = fmt.Appendf(c.request[:0], "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n", method, path)
	if body != nil {
		c.request = fmt.Appendf(c.request, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.request = append(append(c.request, "\r\n"...), body...)
	if _, err := c.socket.Write(c.request); err != nil {
		return nil, err
	}
	return c.answer()
}

func (c *acklogConnection) answer() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return nil, err
	}
	length := 0
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if len(line) == 2 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, err
			}
		}
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	if _, err := io.ReadFull(c.reader, c.body); err != nil {
		return nil, err
	}
	if status >= 300 {
		return nil, statusError{status, string(c.body)}
	}
	return c.body, nil
}

func (c *acklogConnection) Send(bodies [][]byte) error {
	message := make([]byte, 0, 64+len(bodies)*(len(bodies[0])+16))
	if len(bodies) == 1 {
		message = fmt.Appendf(message, `{"queue":%q,"body":"%s"}`, acklogTopic, bodies[0])
	} else {
		message = fmt.Appendf(message, `{"queue":%q,"messages":[`, acklogTopic)
		for index, body := range bodies {
			if index > 0 {
				message = append(message, ',')
			}
			message = append(append(append(message, `{"body":"`...), body...), `"}`...)
		}
		message = append(message, "]}"...)
	}
	answer, err := c.ask("POST", "/messages", message)
	if err == nil && len(bodies) > 1 && bytes.Contains(answer, []byte(`"failed":[{`)) {
		return fmt.Errorf("not all were stored: %.300s", answer)
	}
	return err
}

func (c *acklogConnection) Receive(max int) (Messages, error) {
	path := fmt.Sprintf("/messages?queue=%s&group=%s&max=%d&waitSeconds=1", acklogTopic, acklogGroup, max)
	answer, err := c.ask("GET", path, nil)
	if err != nil {
		return Messages{}, err
	}
	var messages Messages
	receipts := []byte(`{"receipts":[`)
	for index, receipt := range textsOf(answer, `"receipt":"`) {
		if index > 0 {
			receipts = append(receipts, ',')
		}
		receipts = append(append(append(receipts, '"'), receipt...), '"')
	}
	for _, body := range textsOf(answer, `"body":"`) {
		messages.Bodies = append(messages.Bodies, bytes.Clone(body))
	}
	messages.Settlement = append(receipts, "]}"...)
	return messages, nil
}

// textsOf finds a member's texts, in which nothing is escaped.
func textsOf(answer []byte, member string) [][]byte {
	var found [][]byte
	for {
		at := bytes.Index(answer, []byte(member))
		if at < 0 {
			return found
		}
		answer = answer[at+len(member):]
		end := bytes.IndexByte(answer, '"')
		found = append(found, answer[:end])
		answer = answer[end:]
	}
}

func (c *acklogConnection) Ack(messages Messages) error {
	_, err := c.ask("POST", "/ack", messages.Settlement.([]byte))
	return err
}

package main

import (
	"fmt"
	"strconv"
	"time"
)

const stampLength = 20

// bodyOf is a text of bodyBytes characters that begins with when it was to be sent: nothing in it needs escaping in JSON.
func bodyOf(intended time.Time, bodyBytes int) []byte {
	body := make([]byte, 0, bodyBytes)
	body = fmt.Appendf(body, "%0*d", stampLength, intended.UnixNano())
	for len(body) < bodyBytes {
		body = append(body, 'a'+byte(len(body)%26))
	}
	return body
}

func intendedOf(body []byte) (time.Time, error) {
	if len(body) < stampLength {
		return time.Time{}, fmt.Errorf("a body of %d bytes is not of this program", len(body))
	}
	nanoseconds, err := strconv.ParseInt(string(body[:stampLength]), 10, 64)
	return time.Unix(0, nanoseconds), err
}

func batchOf(count, bodyBytes int) [][]byte {
	batch := make([][]byte, count)
	for index := range batch {
		batch[index] = bodyOf(time.Now(), bodyBytes)
	}
	return batch
}

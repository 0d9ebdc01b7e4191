package iggytest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

// indexSize is the length of a message's entry in an index file.
const indexSize = 16

// Tear sends a message, kills it and takes the index of the message away.
func (p *Process) Tear(stream, topic string, partition uint32) {
	p.t.Helper()
	conn, err := p.dial()
	p.must(err)
	defer func() { _ = conn.Close() }()
	dir, err := p.partitionDir(conn, stream, topic, partition)
	p.must(err)
	p.must(sendTorn(conn, stream, topic, partition))
	p.Kill()
	p.must(cutIndex(dir))
	p.Start()
}

// sendTorn sends the message that is to be torn.
func sendTorn(conn *wiretest.Conn, stream, topic string, partition uint32) error {
	torn := wiretest.Message{Payload: []byte("torn")}
	status, _, err := conn.Call(wiretest.SendMessages, wiretest.SendBody(stream, topic, partition, torn))
	if err == nil && status != 0 {
		err = fmt.Errorf("iggytest: send: status %d", status)
	}
	return err
}

// partitionDir is the directory of a partition, which has the numbers of stream
// and topic in its name.
func (p *process) partitionDir(conn *wiretest.Conn, stream, topic string, partition uint32) (string, error) {
	streamID, err := number(conn, wiretest.GetStream, wiretest.Name(nil, stream))
	if err != nil {
		return "", fmt.Errorf("stream %s: %w", stream, err)
	}
	topicID, err := number(conn, wiretest.GetTopic, wiretest.Name(wiretest.Name(nil, stream), topic))
	if err != nil {
		return "", fmt.Errorf("topic %s: %w", topic, err)
	}
	return filepath.Join(p.data, "streams", fmt.Sprint(streamID), "topics", fmt.Sprint(topicID),
		"partitions", fmt.Sprint(partition)), nil
}

// number is the id with which the reply to GetStream or GetTopic begins.
func number(conn *wiretest.Conn, code uint32, body []byte) (uint32, error) {
	status, reply, err := conn.Call(code, body)
	if err != nil {
		return 0, err
	}
	if status != 0 || len(reply) < 4 {
		return 0, fmt.Errorf("status %d, %d bytes", status, len(reply))
	}
	return binary.LittleEndian.Uint32(reply), nil
}

// cutIndex takes the last entry from the index of the last segment.
func cutIndex(dir string) error {
	indexes, err := filepath.Glob(filepath.Join(dir, "*.index"))
	if err != nil {
		return err
	}
	if len(indexes) == 0 {
		return fmt.Errorf("no index in %s", dir)
	}
	last := slices.Max(indexes)
	info, err := os.Stat(last)
	if err != nil {
		return err
	}
	if info.Size() < indexSize {
		return errors.New("the last segment has no message")
	}
	return os.Truncate(last, info.Size()-indexSize)
}

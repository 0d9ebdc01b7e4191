//go:build !cgo

package confluent

import (
	"testing"

	"github.com/iggykafka/gateway/clienttest"
)

func TestConfluent(t *testing.T) {
	clienttest.Missing(t, "cgo, which confluent-kafka-go needs for librdkafka")
}

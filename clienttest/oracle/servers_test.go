package oracle

import (
	"os"
	"testing"
	"time"
)

const (
	wait  = 60 * time.Second
	pause = 100 * time.Millisecond
	// patience is how long an answer may take. Kafka never answers some
	// requests, so a stream sends those at one version only.
	patience = 5 * time.Second
)

func kafkaAddr(t *testing.T) string   { return os.Getenv("KAFKA_ORACLE_ADDR") }
func gatewayAddr(t *testing.T) string { return os.Getenv("KAFKA_GATEWAY_TEST_ADDR") }

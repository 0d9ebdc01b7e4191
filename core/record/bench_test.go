package record_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/record"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// sized returns a batch of n records whose values have size bytes of text that
// compresses about as well as JSON does.
func sized(n, size int) recordtest.Batch {
	words := []string{`{"id":`, `"name":"`, `"amount":`, `true,`, `null,`, `"},`, "2026-11-29", "0123456789", "customer", "order"}
	r := rand.New(rand.NewPCG(1, 2))
	b := recordtest.New()
	for range n {
		var v []byte
		for len(v) < size {
			v = append(v, words[r.IntN(len(words))]...)
			v = append(v, byte(r.IntN(256)))
		}
		b.Records = append(b.Records, recordtest.Record{Key: []byte("customer-4711"), Value: v[:size]})
	}
	return b
}

func BenchmarkParseAndCheck(b *testing.B) {
	for _, shape := range []struct {
		name    string
		n, size int
	}{{"16x1KiB", 16, 1 << 10}, {"1000x1KiB", 1000, 1 << 10}, {"5000x100B", 5000, 100}} {
		for name, batch := range codecs(sized(shape.n, shape.size)) {
			b.Run(shape.name+"/"+name, func(b *testing.B) {
				raw := batch.Bytes()
				b.ReportAllocs()
				b.SetBytes(int64(shape.n * (shape.size + 22)))
				for b.Loop() {
					parsed, _, err := record.Parse(raw)
					if err == nil {
						_, err = record.Check(context.Background(), parsed, open)
					}
					require.NoError(b, err)
				}
				b.ReportMetric(float64(shape.n*shape.size)/float64(len(raw)), "ratio")
			})
		}
	}
}

func BenchmarkFindTime(b *testing.B) {
	for name, batch := range codecs(sized(1000, 1<<10)) {
		b.Run(name, func(b *testing.B) {
			parsed := batch.Batch(b)
			b.ReportAllocs()
			for b.Loop() {
				_, _, ok, err := record.FindTime(parsed, recordtest.Time)
				require.NoError(b, err)
				require.True(b, ok)
			}
		})
	}
}

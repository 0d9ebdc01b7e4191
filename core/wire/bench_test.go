package wire

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/iggykafka/gateway/core/guard"
)

// BenchmarkFrame reads frames from memory: what is left is the cost of the
// reader itself, most of it copies.
func BenchmarkFrame(b *testing.B) {
	for _, size := range []int{100, 16 << 10, 1<<20 + 200, 8<<20 + 200} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			stream := framed(make([]byte, size))
			src := bytes.NewReader(stream)
			r := NewReader(src, new(Pool), testMax)
			lease := guard.NewBudget(1<<30, 0, 0).LeaseAbove(64 << 10)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				src.Reset(stream)
				n, err := r.Prefix()
				if err != nil {
					b.Fatal(err)
				}
				f, err := r.Frame(context.Background(), n, &lease)
				if err != nil {
					b.Fatal(err)
				}
				f.Release()
				lease.Release()
			}
		})
	}
}

package embedded_test

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU adds the processor time per MB to a benchmark's figures.
func reportCPU(b *testing.B, began time.Duration, bytes int64) {
	b.ReportMetric(float64((cpu()-began).Microseconds())/1000/(float64(bytes)/1e6), "cpu-ms/MB")
}

func benchStore(b *testing.B, sync bool) *embedded.Store {
	cfg := embedded.DefaultConfig()
	cfg.Dir, cfg.Sync = b.TempDir(), sync
	return newBox(b, vfs.Default, cfg).store
}

func benchTopic(b *testing.B, s *embedded.Store, partitions int32) []backend.Partition {
	t, err := s.CreateTopic(b.Context(), backend.NewTopic{Name: "t", Partitions: partitions})
	require.NoError(b, err)
	ps := make([]backend.Partition, partitions)
	for i := range ps {
		ps[i] = backend.Partition{Topic: t.ID, Index: int32(i)}
	}
	return ps
}

// payload is a batch of 16 records that does not compress.
func payload(b *testing.B, size int) recordtest.Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	batch := recordtest.New()
	for range 16 {
		v := make([]byte, (size-61)/16-8)
		for i := range v {
			v[i] = byte(rng.Uint32())
		}
		batch.Records = append(batch.Records, recordtest.Record{Value: v})
	}
	return batch
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name       string
		sync       bool
		size       int
		partitions int32
		idempotent bool
	}{
		{"16KiB", false, 16 << 10, 6, false},
		{"16KiB-idempotent", false, 16 << 10, 6, true},
		{"1KiB", false, 1 << 10, 6, false},
		{"16KiB-1000-partitions", false, 16 << 10, 1000, false},
		{"16KiB-sync", true, 16 << 10, 6, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := benchStore(b, c.sync)
			ps := benchTopic(b, s, c.partitions)
			batch := payload(b, c.size)
			if c.idempotent {
				batch = batch.From(1, 0, 0)
			}
			one := batch.Batch(b)
			size := int64(len(one.Bytes))
			b.SetBytes(size)
			b.ReportAllocs()
			began := cpu()
			b.ResetTimer()
			for i := range b.N {
				one.BaseSequence = int32(i/len(ps)) * 16
				out := s.Append(b.Context(), []backend.Append{{Partition: ps[i%len(ps)], Batch: one}})
				if out[0].Err != nil {
					b.Fatal(out[0].Err)
				}
			}
			reportCPU(b, began, size*int64(b.N))
		})
	}
}

func BenchmarkRead(b *testing.B) {
	const total = 256 << 20
	s := benchStore(b, false)
	p := benchTopic(b, s, 1)[0]
	one := payload(b, 16<<10).Batch(b)
	for n := 0; n < total; n += len(one.Bytes) {
		require.NoError(b, s.Append(b.Context(), []backend.Append{{Partition: p, Batch: one}})[0].Err)
	}
	bounds, err := s.Bounds(b.Context(), p)
	require.NoError(b, err)
	for _, size := range []int{1 << 20, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			began := cpu()
			var bytes int64
			at, buf := bounds.Start, make([]byte, size)
			b.ResetTimer()
			for range b.N {
				got, _, err := s.Read(b.Context(), backend.Read{Partition: p, Offset: at, MaxBytes: size, Buf: buf, AtLeastOne: true})
				if err != nil {
					b.Fatal(err)
				}
				bytes += int64(len(got))
				if at += int64(len(got) / len(one.Bytes) * 16); at >= bounds.End {
					at = bounds.Start
				}
			}
			reportCPU(b, began, bytes)
		})
	}
	b.Run("random", func(b *testing.B) {
		rng := rand.New(rand.NewPCG(1, 2))
		for range b.N {
			_, _, err := s.Read(b.Context(), backend.Read{Partition: p, Offset: rng.Int64N(bounds.End), MaxBytes: 16 << 10, AtLeastOne: true})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCommitOffsets(b *testing.B) {
	for _, sync := range []bool{false, true} {
		b.Run(fmt.Sprintf("sync=%v", sync), func(b *testing.B) {
			s := benchStore(b, sync)
			p := benchTopic(b, s, 1)[0]
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					err := s.CommitOffsets(b.Context(), "g", []backend.Commit{{Partition: p, CommittedOffset: backend.CommittedOffset{Offset: 1}}})
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

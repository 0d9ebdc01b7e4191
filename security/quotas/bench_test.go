package quotas

import (
	"fmt"
	"testing"

	"github.com/iggykafka/gateway/core/security"
)

// BenchmarkUse is what a request pays for quotas: without any, with some of others,
// and with one of its own.
func BenchmarkUse(b *testing.B) {
	who := security.Requester{Principal: security.User("alice"), ClientID: "app"}
	value := 1e18
	for _, c := range []struct {
		name   string
		entity security.QuotaEntity
	}{
		{"none", nil},
		{"others", entity("user", "bob")},
		{"user", entity("user", "alice")},
		{"client", entity("client-id", "app")},
	} {
		b.Run(c.name, func(b *testing.B) {
			q := New(memory{}, DefaultConfig())
			if c.entity != nil {
				change := security.QuotaChange{Entity: c.entity, Values: map[string]*float64{"producer_byte_rate": &value}}
				if err := q.AlterQuotas(b.Context(), []security.QuotaChange{change}, false)[0]; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					q.Use(who, security.ProducedBytes, 1000)
				}
			})
		})
	}
}

// BenchmarkStrangers is the cost of clients that never come twice.
func BenchmarkStrangers(b *testing.B) {
	c := DefaultConfig()
	c.ProducerByteRate = 1000
	q := New(memory{}, c)
	b.ReportAllocs()
	for i := range b.N {
		q.Use(security.Requester{Principal: security.Anonymous, ClientID: fmt.Sprint(i)}, security.ProducedBytes, 1)
	}
}

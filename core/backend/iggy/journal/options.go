package journal

import (
	"os"
	"time"

	"go.uber.org/zap"
)

func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	o.Host = o.Host[:min(len(o.Host), maxHost)]
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Renew == 0 {
		o.Renew = 5 * time.Second
	}
	if o.TTL == 0 {
		o.TTL = 15 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = time.Second
	}
	if o.FloorBytes == 0 {
		o.FloorBytes = 8 << 20
	}
	if o.FloorRecords == 0 {
		o.FloorRecords = 20_000
	}
	return o
}

// Command newkey is a gateway that serves one key more: DescribeLogDirs (35),
// which says where a broker keeps its records. The handler lives here, outside
// of the gateway's own folders, and is added by one word in main.
package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/fx"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
	"github.com/iggykafka/gateway/core/backend/embedded"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
)

func main() { app.Main(gateway.Plugins(), logDirs) }

// shape describes the request at every version: topics, or null for all.
var shape = guard.Body(2, guard.Array[kmsg.DescribeLogDirsRequestTopic](
	guard.String(), guard.Array[int32](guard.Int32())).Nullable())

var logDirs = fx.Module("describelogdirs", fx.Provide(func(store embedded.Config) handler.Out {
	return handler.Out{Handler: handler.New(1, 4, shape, handler.CloseConnection, describer{store.Dir}.describe)}
}))

type describer struct{ dir string }

// describe names the folder; it lists no partitions.
func (d describer) describe(_ context.Context, _ handler.Call, req *kmsg.DescribeLogDirsRequest) (*kmsg.DescribeLogDirsResponse, error) {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = d.dir
	resp.Dirs = append(resp.Dirs, dir)
	return resp, nil
}

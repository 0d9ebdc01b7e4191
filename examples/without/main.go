// Command without is a gateway that nobody can delete topics from: it leaves the
// key DeleteTopics (20) out, and its clients see that in ApiVersions.
package main

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
)

func main() { app.Main(gateway.Plugins(gateway.Without(kmsg.DeleteTopics))) }

// Command kafka-gateway is the gateway as the project ships it. Copy this file
// to build your own: add modules to the list, or compose another list from the
// parts of package gateway.
package main

import (
	"github.com/iggykafka/gateway"
	"github.com/iggykafka/gateway/app"
)

func main() { app.Main(gateway.Plugins()) }

package iggypermissions

import (
	"testing"

	iggcon "github.com/apache/iggy/foreign/go/contracts"
)

// SDK is sdk, for the tests of whole gateways.
var SDK = sdk

// ID is id, of a name.
func ID(t *testing.T, name string) iggcon.Identifier { return id(t, name) }

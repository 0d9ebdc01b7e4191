// Package saslhandshake answers SaslHandshake (key 17), versions 0 and 1: a client
// names the SASL mechanism that it wants to log in with, and learns which ones the
// listener offers.
//
// KIP-43 brought it. After version 1 tokens come in SaslAuthenticate (KIP-152),
// after version 0 bare, as frames without a header. On a connection that is
// logged in it begins a further login (KIP-368).
package saslhandshake

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/iggykafka/gateway/core/handler"
)

// New returns the handler. The login of the connection decides; see handler.Login.
func New() handler.Handler {
	return handler.New(0, 1, shape, handler.CloseConnection, shake, handler.BeforeLogin(), handler.Unmetered())
}

func shake(_ context.Context, call handler.Call, req *kmsg.SASLHandshakeRequest) (*kmsg.SASLHandshakeResponse, error) {
	resp := kmsg.NewPtrSASLHandshakeResponse()
	if call.Login == nil { // the listener has no logins
		resp.ErrorCode = kerr.IllegalSaslState.Code
		return resp, nil
	}
	resp.SupportedMechanisms, resp.ErrorCode = call.Login.Handshake(req.Version, req.Mechanism)
	return resp, nil
}

package server

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/wire"
)

// Why the server itself closes a connection.
var (
	errFirstRequestTimeout = errors.New("no complete request within first_request_timeout")
	errIdleTimeout         = errors.New("no request within idle_timeout")
	errReadTimeout         = errors.New("request not complete within read_timeout")
	errWriteTimeout        = errors.New("answer not taken within write_timeout")
	errShutdown            = errors.New("the gateway shuts down")
	errLoginRefused        = errors.New("the login was refused")
	errDisplaced           = errors.New("silent while max_connections were open and another client came")
	errInsecure            = errors.New("no agreement on how to secure the connection")
)

// The reasons that are not the dispatcher's.
const (
	clientClosed dispatch.Reason = "client_closed"
	badFrame     dispatch.Reason = "bad_frame"
	shutdown     dispatch.Reason = "shutdown"
	ioError      dispatch.Reason = "io_error"
	displaced    dispatch.Reason = "displaced"
	insecure     dispatch.Reason = "handshake"
)

var timeouts = []struct {
	err    error
	reason dispatch.Reason
}{
	{errFirstRequestTimeout, "first_request_timeout"},
	{errIdleTimeout, "idle_timeout"},
	{errReadTimeout, "read_timeout"},
	{errWriteTimeout, "write_timeout"},
}

// gone reports whether an error only says that the client went away, or that
// the server did.
func (c *conn) gone(err error) bool {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, errShutdown),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return true
	case errors.Is(err, context.Canceled):
		return c.ctx.Err() != nil
	}
	return false
}

// reason classifies what closes a connection, for a metric and the log.
func (c *conn) reason(err error) (dispatch.Reason, zapcore.Level) {
	if c.gone(err) {
		if c.s.draining.Load() {
			return shutdown, zapcore.DebugLevel
		}
		return clientClosed, zapcore.DebugLevel
	}
	var failed *dispatch.Error
	if errors.As(err, &failed) {
		switch failed.Reason {
		case dispatch.Panicked:
			return failed.Reason, zapcore.ErrorLevel
		case dispatch.HandlerFailed, dispatch.AnswerTooLarge, dispatch.OverBudget:
			return failed.Reason, zapcore.WarnLevel
		}
		return failed.Reason, zapcore.DebugLevel
	}
	for _, t := range timeouts {
		if errors.Is(err, t.err) {
			return t.reason, zapcore.DebugLevel
		}
	}
	switch {
	case errors.Is(err, errLoginRefused):
		return dispatch.LoginRefused, zapcore.DebugLevel
	case errors.Is(err, errDisplaced):
		return displaced, zapcore.DebugLevel
	case errors.Is(err, errInsecure):
		return insecure, zapcore.DebugLevel
	case errors.Is(err, wire.ErrFrameSize):
		return badFrame, zapcore.DebugLevel
	case errors.Is(err, guard.ErrBudget):
		return dispatch.OverBudget, zapcore.WarnLevel
	}
	return ioError, zapcore.DebugLevel
}

// report logs and counts the end of a connection, in this order: who sees it
// counted finds it logged, and told to the audit.
func (c *conn) report(err error) {
	reason, level := c.reason(err)
	defer c.s.metrics.closed.WithLabelValues(string(reason)).Inc()
	if reason == clientClosed || reason == shutdown {
		return
	}
	c.tellAudit(err)
	line := c.s.log.Check(level, "connection closed")
	if line == nil {
		return
	}
	fields := []zap.Field{
		zap.String("reason", string(reason)), zap.Stringer("client", c.socket.RemoteAddr()),
		zap.String("listener", c.listener.cfg.Name), zap.Error(err),
	}
	var failed *dispatch.Error
	if errors.As(err, &failed) {
		fields = append(fields, zap.String("client_id", failed.ClientID))
		if failed.Stack != nil {
			fields = append(fields, zap.ByteString("stack", failed.Stack))
		}
	}
	line.Write(fields...)
}

package server

import (
	"context"
	"net"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/iggykafka/gateway/core/dispatch"
	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/settings"
)

// Server is the listener and its connections.
type Server struct {
	cfg Config
}

// New returns a server that does nothing yet. A nil reg registers no metrics.
func New(
	cfg Config, d *dispatch.Dispatcher, budget *guard.Budget, node *settings.Node,
	log *zap.Logger, reg prometheus.Registerer,
) (*Server, error) {
	return &Server{cfg: cfg}, cfg.Validate()
}

// Start listens, tells the node its address, and accepts.
func (s *Server) Start(ctx context.Context) error { return nil }

// Addr returns the address that the server listens on; nil before Start.
func (s *Server) Addr() net.Addr { return nil }

// Stop drains and closes.
func (s *Server) Stop(ctx context.Context) error { return nil }

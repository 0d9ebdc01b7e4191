package client

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

// A server that is away is told of again and again, before the first connection and
// after it, with how long; and its return once.
func TestAbsenceIsToldAgain(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.InfoLevel)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	c, err := New(impatient(address), Options{Log: zap.New(core)})
	require.NoError(t, err)
	require.Equal(t, tellEvery, c.away.every)
	c.away.every = time.Millisecond
	defer c.Close()
	started := make(chan error, 1)
	go func() { started <- c.Start(t.Context()) }()
	again := func() int { return logs.FilterMessage("still waiting for the Iggy server").Len() }
	require.Eventually(t, func() bool { return again() > 3 }, soon, tick)
	require.Equal(t, 1, logs.FilterMessage("waiting for the Iggy server").Len())

	l, err = net.Listen("tcp", address)
	require.NoError(t, err)
	f := newFakeOn(t, l, nil)
	require.NoError(t, <-started)
	before := again()
	f.end()
	require.Eventually(t, func() bool { return again() > before+3 }, soon, tick)
	require.Equal(t, 1, slices.Index(texts(logs), "still waiting for the Iggy server"))
	entry := logs.FilterMessage("still waiting for the Iggy server").All()[0]
	require.Equal(t, zapcore.WarnLevel, entry.Level)
	require.Contains(t, entry.ContextMap(), "for")
	require.Equal(t, address, entry.ContextMap()["address"])
}

// In between it is not.
func TestAbsence(t *testing.T) {
	t.Parallel()
	a := absence{every: time.Hour}
	require.False(t, a.due(), "it has not begun")
	a.begin()
	require.False(t, a.due())
	a.told = a.told.Add(-time.Hour)
	require.True(t, a.due())
	require.False(t, a.due())
	a.since = a.since.Add(-90 * time.Minute)
	require.Equal(t, 90*time.Minute, a.length())
}

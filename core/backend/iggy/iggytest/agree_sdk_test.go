package iggytest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	iggy "github.com/apache/iggy/foreign/go/client"
	"github.com/apache/iggy/foreign/go/client/tcp"
	iggcon "github.com/apache/iggy/foreign/go/contracts"
	ierror "github.com/apache/iggy/foreign/go/errors"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend/iggy/iggytest"
	"github.com/iggykafka/gateway/core/backend/iggy/iggytest/wiretest"
)

func sdk(t *testing.T, server iggytest.Server) iggcon.Client {
	t.Helper()
	client, err := iggy.NewIggyClient(iggy.WithTcp(tcp.WithServerAddress(server.Address())))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	_, err = client.LoginUser(iggytest.Username, iggytest.Password)
	require.NoError(t, err)
	return client
}

func named(t *testing.T, name string) iggcon.Identifier {
	t.Helper()
	id, err := iggcon.NewIdentifier(name)
	require.NoError(t, err)
	return id
}

// TestAgreeSDK goes through the calls of the SDK that the gateway makes.
func TestAgreeSDK(t *testing.T) {
	agree(t, func(t *testing.T, server iggytest.Server) {
		client := sdk(t, server)
		s, top := named(t, "s"), named(t, "t")
		require.NoError(t, client.Ping())
		_, err := client.GetStream(s)
		require.ErrorIs(t, err, ierror.ErrStreamIdNotFound)
		stream, err := client.CreateStream("s")
		require.NoError(t, err)
		made, err := client.CreateTopic(s, "t", 2, iggcon.CompressionAlgorithmNone, iggcon.IggyExpiryNeverExpire, unlimited, nil)
		require.NoError(t, err)
		got, err := client.GetTopic(s, top)
		require.NoError(t, err)
		require.Equal(t, made.Topic, got.Topic)
		require.Len(t, got.Partitions, 2)
		topics, err := client.GetTopics(s)
		require.NoError(t, err)
		require.Equal(t, []iggcon.Topic{got.Topic}, topics)
		streams, err := client.GetStreams()
		require.NoError(t, err)
		require.Len(t, streams, 1)
		require.Equal(t, stream.CreatedAt, streams[0].CreatedAt)
		clients, err := client.GetClients()
		require.NoError(t, err)
		require.Len(t, clients, 1)
		stats, err := client.GetStats()
		require.NoError(t, err)
		require.EqualValues(t, 2, stats.PartitionsCount)
		require.NotZero(t, stats.FreeDiskSpace)
		require.Greater(t, stats.TotalDiskSpace, stats.FreeDiskSpace)
		t.Logf("disk: %d of %d bytes are free", stats.FreeDiskSpace, stats.TotalDiskSpace)
		sdkMessages(t, client, s, top)
		require.NoError(t, client.CreatePartitions(s, top, 3))
		require.NoError(t, client.UpdateTopic(s, top, "t", iggcon.CompressionAlgorithmNone, 1000, unlimited, nil))
		require.NoError(t, client.DeleteTopic(s, top))
		require.NoError(t, client.DeleteStream(s))
	})
}

func sdkMessages(t *testing.T, client iggcon.Client, stream, topic iggcon.Identifier) {
	t.Helper()
	message, err := iggcon.NewIggyMessage([]byte("payload"), iggcon.WithID([16]byte{1}))
	require.NoError(t, err)
	require.NoError(t, client.SendMessages(stream, topic, iggcon.PartitionId(1), []iggcon.IggyMessage{message, message}))
	one, err := iggcon.NewIdentifier(uint32(1))
	require.NoError(t, err)
	partition := uint32(1)
	polled, err := client.PollMessages(stream, topic, iggcon.NewSingleConsumer(one), iggcon.OffsetPollingStrategy(1), 10, false, &partition)
	require.NoError(t, err)
	require.EqualValues(t, 1, polled.CurrentOffset)
	require.Len(t, polled.Messages, 1)
	require.Equal(t, "payload", string(polled.Messages[0].Payload))
	require.Equal(t, message.Header.Id, polled.Messages[0].Header.Id)
	require.Equal(t, message.Header.OriginTimestamp, polled.Messages[0].Header.OriginTimestamp)
}

func TestAgreeTLS(t *testing.T) {
	cert, key := certificate(t)
	agree(t, func(t *testing.T, server iggytest.Server) {
		conn, err := wiretest.Dial(server.Address(), &tls.Config{InsecureSkipVerify: true}, wait)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		status, err := conn.Login(iggytest.Username, iggytest.Password)
		require.NoError(t, err)
		require.Zero(t, status)
		server.Kill()
		server.Start()
	}, iggytest.TLS(cert, key))
}

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", cert), write("key.pem", "PRIVATE KEY", private)
}

package handlertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"github.com/iggykafka/gateway/core/guard"
	"github.com/iggykafka/gateway/core/handler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Shapes of three keys that between them have every kind of field.
var (
	metadataShape = guard.Body(9,
		guard.Array[kmsg.MetadataRequestTopic](
			guard.UUID().Since(10), guard.String().NullableSince(10),
		).NullableSince(1),
		guard.Bool().Since(4), guard.Bool().Since(8).Until(10), guard.Bool().Since(8),
	)
	produceShape = guard.Body(9,
		guard.String().Nullable().Since(3), guard.Int16(), guard.Int32(),
		guard.Array[kmsg.ProduceRequestTopic](
			guard.String().Until(12), guard.UUID().Since(13),
			guard.Array[kmsg.ProduceRequestTopicPartition](guard.Int32(), guard.Bytes().Nullable()),
		),
	)
	describePartitionsShape = guard.Body(0,
		guard.Array[kmsg.DescribeTopicPartitionsRequestTopic](guard.String()),
		guard.Int32(),
		guard.NullableStruct[kmsg.DescribeTopicPartitionsRequestCursor](guard.String(), guard.Int32()),
	)
	describeGroupsShape = guard.Body(5, guard.Array[string](guard.String()), guard.Bool().Since(3))
)

func TestConform(t *testing.T) {
	t.Run("Metadata", func(t *testing.T) {
		Conform(t, handler.New(0, 13, metadataShape, handler.CloseConnection,
			func(context.Context, handler.Call, *kmsg.MetadataRequest) (*kmsg.MetadataResponse, error) {
				return nil, nil
			}))
	})
	t.Run("Produce", func(t *testing.T) {
		Conform(t, handler.New(3, 13, produceShape, handler.CloseConnection,
			func(context.Context, handler.Call, *kmsg.ProduceRequest) (*kmsg.ProduceResponse, error) {
				return nil, nil
			},
			handler.AdvertiseFrom(0)))
	})
	t.Run("DescribeTopicPartitions", func(t *testing.T) {
		Conform(t, handler.New(0, 0, describePartitionsShape, handler.CloseConnection,
			func(context.Context, handler.Call, *kmsg.DescribeTopicPartitionsRequest) (*kmsg.DescribeTopicPartitionsResponse, error) {
				return nil, nil
			}))
	})
	t.Run("DescribeGroups", func(t *testing.T) { Conform(t, describe(describeGroupsShape)) })
}

func describe(s guard.Shape) handler.Handler {
	return handler.New(0, 6, s, handler.CloseConnection,
		func(_ context.Context, _ handler.Call, r *kmsg.DescribeGroupsRequest) (*kmsg.DescribeGroupsResponse, error) {
			resp := kmsg.NewPtrDescribeGroupsResponse()
			for _, g := range r.Groups {
				resp.Groups = append(resp.Groups, kmsg.DescribeGroupsResponseGroup{Group: g})
			}
			return resp, nil
		})
}

// The known smallest elements of the protocol, as a check on the checker.
func TestSmallestElements(t *testing.T) {
	require.Equal(t, []int{2}, describeGroupsShape.Arrays(0))
	require.Equal(t, []int{1}, describeGroupsShape.Arrays(5))
	require.Equal(t, []int{2}, metadataShape.Arrays(9))
	require.Equal(t, []int{18}, metadataShape.Arrays(10))
	require.Equal(t, []int{6, 8}, produceShape.Arrays(3))
	require.Equal(t, []int{3, 6}, produceShape.Arrays(9))
	require.Equal(t, []int{18, 6}, produceShape.Arrays(13))
}

// A wrong shape must not pass. Each is the right one with one mistake.
func TestWrongShapes(t *testing.T) {
	for name, wrong := range map[string]guard.Shape{
		"flexible too late":    guard.Body(6, guard.Array[string](guard.String()), guard.Bool().Since(3)),
		"a field is missing":   guard.Body(5, guard.Array[string](guard.String())),
		"a field too early":    guard.Body(5, guard.Array[string](guard.String()), guard.Bool()),
		"nullable array":       guard.Body(5, guard.Array[string](guard.String()).Nullable(), guard.Bool().Since(3)),
		"nullable string":      guard.Body(5, guard.Array[string](guard.String().Nullable()), guard.Bool().Since(3)),
		"the wrong Go element": guard.Body(5, guard.Array[[3]string](guard.String()), guard.Bool().Since(3)),
	} {
		t.Run(name, func(t *testing.T) {
			h, failed := describe(wrong), false
			for v := int16(0); v <= 6; v++ {
				failed = failed || fails(func(t *testing.T) { conformShape(t, h, v) })
			}
			require.True(t, failed, "Conform passes")
		})
	}
}

// fails runs a check on a T of its own and reports whether it failed it.
func fails(check func(*testing.T)) bool {
	var t testing.T
	done := make(chan struct{})
	go func() { // FailNow ends the goroutine
		defer close(done)
		check(&t)
	}()
	<-done
	return t.Failed()
}

func TestAnswer(t *testing.T) {
	h := describe(describeGroupsShape)
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Version = 5
	require.NoError(t, ParseRequest(`{"Groups": ["a"]}`, req))
	require.Equal(t, int16(5), req.Version)
	require.Equal(t, `Groups:
- ErrorCode: 0
  ErrorMessage: null
  Group: "a"
  State: ""
  ProtocolType: ""
  Protocol: ""
  Members: null
  AuthorizedOperations: 0
`, Answer(context.Background(), h, handler.Call{}, req))
	require.ErrorContains(t, ParseRequest(`{"Gruops": []}`, req), "no field Gruops")
}

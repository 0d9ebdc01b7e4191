package createtopics

import (
	"context"
	"time"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/topicadmin/admintest"
)

// slow is a store whose CreateTopic never ends by itself.
type slow struct {
	*admintest.Topics
	deadline time.Time
}

func (s *slow) CreateTopic(ctx context.Context, _ backend.NewTopic) (backend.Topic, error) {
	s.deadline, _ = ctx.Deadline()
	<-ctx.Done()
	return backend.Topic{}, ctx.Err()
}

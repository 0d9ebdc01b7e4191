package backendtest

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/iggykafka/gateway/core/backend"
	"github.com/iggykafka/gateway/core/record/recordtest"
)

// soon is how long something may take that happens at once.
const soon = 30 * time.Second

func wait(h *harness, ch <-chan struct{}, what string) {
	h.Helper()
	select {
	case <-ch:
	case <-time.After(soon):
		h.Fatal("not woken: " + what)
	}
}

func watch(h *harness) {
	topic := h.create("t", 3)
	at := func(i int32) backend.Partition { return backend.Partition{Topic: topic.ID, Index: i} }
	h.store(at(0), recordtest.Values("before"))
	grown, stop := h.Backend.Watch([]backend.Partition{at(0), at(1), at(9), {Topic: uuid.New()}})
	other, stopOther := h.Backend.Watch([]backend.Partition{at(1)})
	defer stopOther()
	for i := range int32(2) {
		h.store(at(i), recordtest.Values("x"))
		wait(h, grown, "an append")
		require.NotEmpty(h, h.read(at(i), 0), "woken when there is something to read")
	}
	wait(h, other, "every watcher is told")
	// Two appends between two looks are one wake-up.
	h.store(at(0), recordtest.Values("x"))
	h.store(at(0), recordtest.Values("x"))
	wait(h, grown, "two appends")
	stop()
	h.store(at(0), recordtest.Values("x"))
	stop() // twice does no harm
	_, never := h.Backend.Watch(nil)
	never()
}

func watchDelete(h *harness) {
	topic := h.create("t", 1)
	p := backend.Partition{Topic: topic.ID}
	grown, stop := h.Backend.Watch([]backend.Partition{p})
	defer stop()
	require.NoError(h, h.Backend.DeleteTopic(h.Context(), topic.ID))
	wait(h, grown, "the topic is gone")
	_, err := h.Backend.Bounds(h.Context(), p)
	require.ErrorIs(h, err, backend.ErrUnknownTopic)
}

package server

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A request that takes long is told of once, whoever else looks at the same time, and so is
// the next one; those that end in time are not, nor those that are dealt with already.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened, told := time.Now(), 0
		now := func() time.Duration { return time.Since(opened) }
		var w watch
		w.timer = time.AfterFunc(time.Hour, func() {
			if w.looks(now) {
				told++
			}
		})
		w.timer.Stop()
		lasts := func(d time.Duration) {
			w.begins(now())
			time.Sleep(d)
			synctest.Wait()
		}
		for i := range 3 {
			lasts(lookAhead)
			require.Equal(t, i+1, told)
			// A look that was held up between its two looks at what began.
			require.False(t, w.looks(now))
			require.True(t, w.ends())
		}
		for range 100 {
			lasts(lookAhead * 9 / 10)
			require.False(t, w.ends())
		}
		require.Equal(t, 3, told)
		lasts(lookAhead)
		require.Equal(t, 4, told, "the timer runs")
		require.False(t, w.tells(), "it has been told of")
		require.True(t, w.ends())
		require.False(t, w.tells(), "there is none")
		for range 3 {
			w.begins(now())
			require.True(t, w.tells())
			time.Sleep(2 * lookAhead)
			require.True(t, w.ends())
		}
		require.Equal(t, 4, told)
	})
}

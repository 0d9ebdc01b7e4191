package watch

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestList(t *testing.T) {
	t.Parallel()
	var l List
	l.Wake()
	a, b, never := New(), New(), New()
	l.Add(a)
	l.Add(b)
	l.Add(a)
	l.Remove(never)
	l.Wake()
	l.Wake()
	require.Len(t, a, 1, "two are one")
	require.Len(t, b, 1)
	require.Empty(t, never)
	<-a
	<-b
	l.Remove(a)
	l.Wake()
	require.Len(t, a, 1, "it was there twice")
	<-a
	<-b
	l.Remove(a)
	l.Remove(b)
	l.Wake()
	require.Empty(t, a)
	require.Empty(t, b)
	require.Zero(t, l.Len())
}

// TestTogether: lists change while others wake.
func TestTogether(t *testing.T) {
	t.Parallel()
	var l List
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range 200 {
				w := New()
				l.Add(w)
				l.Wake()
				<-w
				l.Remove(w)
			}
		})
	}
	work.Wait()
	require.Zero(t, l.Len())
}

package host

import "time"

// Clock tells the time and wakes up. Its time must not go back.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once, in a goroutine of its own, after d. The returned
	// function prevents that if it comes in time.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// systemClock is the clock of package time.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// Clock returns the clock of the host.
func (c *Host) Clock() Clock { return c.clock }

package cli

// Who is as whom a client talks to the cluster.
func (c Connection) Who() string { return c.who() }

// Offers is the advice for who logs in by another mechanism.
func Offers(mechanisms []string) string { return offers(mechanisms) }

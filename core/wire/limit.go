package wire

// Limit changes the longest payload that the Reader takes, in bytes, from the next
// Prefix on.
func (r *Reader) Limit(maxFrame int) { r.max = maxFrame }

package message

// Encode returns the message that stores a record; ErrTooLarge. Its payload
// aliases the record's value unless the record needs an envelope.
func Encode(r *Record, id ID) (Message, error) { return Message{}, ErrTooLarge }

// Decode reads a message into r, whose memory for headers it uses again. Key and
// value alias the message. A message without the mark of a gateway, as native
// clients write them, has a null key, all its user headers and its payload as
// value. ErrUnreadable.
func Decode(m *Message, r *Record) error { return ErrUnreadable }

// Timestamp returns the timestamp of the record that a message stores, in ms
// since the epoch, as a Batcher with that setting shows it. ErrUnreadable.
func Timestamp(m *Message, logAppendTime bool) (int64, error) { return 0, ErrUnreadable }

// FromGateway reports whether a gateway wrote the message, of whatever version:
// only then do its id and its headers mean what this package says.
func FromGateway(m *Message) bool { return false }

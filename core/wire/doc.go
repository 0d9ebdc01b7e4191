// Package wire knows frames and headers: how requests are cut out of a stream
// of bytes, and what stands before a body. It knows no handler and no socket.
//
// # Errors
//
// All of them mean that nothing can be answered and the connection must close:
//   - [ErrFrameSize]: a length prefix below the size of a header or above the
//     limit. TLS hellos and HTTP requests read as such a length.
//   - [ErrHeader]: a header that runs past the end of its frame.
//   - [io.EOF]: the stream ended between frames; [io.ErrUnexpectedEOF]: inside
//     one.
//   - the errors of the source, and of the lease that pays for a frame.
//
// # Memory
//
// A length prefix reserves nothing. The buffer of a frame grows as its bytes
// arrive, and is never larger than twice what has arrived and 64 KiB more. What
// it holds is charged to the request's lease; it is given back by
// [Frame.Release], so that a connection between requests owns [ReadAhead] bytes
// and nothing else.
package wire

package client

import (
	"encoding/binary"
	"errors"
)

// What the relay knows of Iggy's protocol: how long a request and a reply are.
//
//	request: u32 length of what follows · u32 command · body
//	reply:   u32 status, 0 for success  · u32 length of the body · body
//
// All numbers are little-endian.
const (
	headerBytes = 8
	// requestAhead is the part of a request's length that the header holds.
	requestAhead = 4
)

// The commands that the relay has to do with.
const (
	codeClusterMetadata = 12
	codeMe              = 20
	codeLogin           = 38
	codePoll            = 100
	codeSend            = 101
)

// maxMe bounds the answer to codeMe, in bytes: it names the client's groups.
const maxMe = 64 << 10

// featureUnavailable is what a server without clustering answers to
// codeClusterMetadata.
const featureUnavailable = 5

// frame begins a request, for a body of that many bytes.
func frame(code uint32, body int) []byte {
	b := make([]byte, headerBytes, headerBytes+body)
	putHeader(b, uint32(headerBytes-requestAhead+body), code)
	return b
}

func requestHeader(header []byte) (bytes int64, code uint32) {
	return requestAhead + int64(binary.LittleEndian.Uint32(header)), binary.LittleEndian.Uint32(header[4:])
}

func replyHeader(header []byte) (status uint32, body int64) {
	return binary.LittleEndian.Uint32(header), int64(binary.LittleEndian.Uint32(header[4:]))
}

func putHeader(header []byte, first, second uint32) {
	binary.LittleEndian.PutUint32(header, first)
	binary.LittleEndian.PutUint32(header[4:], second)
}

// isAlert tells that what should be a reply is a TLS record, of 7 bytes: the
// server speaks TLS and this side does not. As a status it would be none of
// Iggy's.
func isAlert(head []byte) bool {
	const alert, tlsMajor = 21, 3
	return len(head) >= 5 && head[0] == alert && head[1] == tlsMajor && head[2] <= 4 && head[3] == 0 && head[4] == 2
}

// addressOf takes the address out of the answer to codeMe: u32 client id · u32
// user id · u8 transport · u32 length, address · …
func addressOf(body []byte) (string, error) {
	const at = 4 + 4 + 1
	if len(body) < at+4 {
		return "", errors.New("the reply about this connection is too short")
	}
	n := binary.LittleEndian.Uint32(body[at:])
	if rest := body[at+4:]; uint64(n) <= uint64(len(rest)) {
		return string(rest[:n]), nil
	}
	return "", errors.New("the reply about this connection is cut off")
}

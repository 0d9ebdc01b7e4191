package standintest

import (
	"encoding/binary"
	"net/netip"
	"os"
)

// Version is what the stand-in says that it is.
const Version = "0.8.0"

// disk and freeDisk are the bytes of the volume that it says it has its data on.
const (
	disk     = 1 << 40
	freeDisk = 1 << 39
)

func (s *Server) getStats(*conn, *reader) (uint32, []byte) {
	var topics, partitions, messages, size uint64
	streams := s.streams.all()
	for _, st := range streams {
		for _, t := range st.topics.all() {
			topics++
			partitions += uint64(len(t.partitions))
			tSize, tMessages := t.totals()
			size, messages = size+tSize, messages+tMessages
		}
	}
	var w writer
	// Each life is a process of its own.
	w.u32(uint32(os.Getpid()) + s.starts)
	w.u32(0)      // CPU of the process
	w.u32(0)      // of the machine
	for range 7 { // memory used, in all and available; run and start time; read and written
		w.u64(0)
	}
	w.u64(size)
	w.u32(uint32(len(streams)))
	w.u32(uint32(topics))
	w.u32(uint32(partitions))
	w.u32(uint32(partitions)) // segments
	w.u64(messages)
	w.u32(uint32(len(s.clients)))
	w.u32(0) // consumer groups
	for _, text := range []string{"stand-in", "", "", "", Version} {
		w.string32(text)
	}
	w.u32(8000) // the version as a number
	w.u32(0)    // cache metrics
	w.u32(1)    // threads
	w.u64(freeDisk)
	w.u64(disk)
	return 0, w
}

// getClusterMetadata describes a cluster of one node, its leader.
func (s *Server) getClusterMetadata(*conn, *reader) (uint32, []byte) {
	// What the server would listen on if it spoke more than TCP.
	const quic, http, websocket = 8080, 3000, 8092
	const leader, healthy = 0, 0
	at := netip.MustParseAddrPort(s.Address())
	var w writer
	w.string32("single-node")
	w.u32(1)
	w.string32("iggy-node")
	w.string32(at.Addr().String())
	for _, port := range []uint16{at.Port(), quic, http, websocket} {
		w = binary.LittleEndian.AppendUint16(w, port)
	}
	w.u8(leader)
	w.u8(healthy)
	return 0, w
}

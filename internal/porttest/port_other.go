//go:build !linux

package porttest

import "net"

// Port is a port that was free when it was reserved.
type Port struct {
	// Address is host:port.
	Address string
}

// Reserve finds a free port.
func Reserve() (*Port, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Port{Address: listener.Addr().String()}, listener.Close()
}

// Listen listens on the port.
func (p *Port) Listen() (net.Listener, error) { return net.Listen("tcp", p.Address) }

// Release gives the port back.
func (p *Port) Release() {}

package standintest

import (
	"encoding/binary"
	"time"
)

// The methods here are what a fault does to the request that it hits; those of a
// nil fault do nothing.

func (i *Injected) is(k Kind) bool { return i != nil && i.fault.Kind == k }

// before says whether the request is to go on.
func (i *Injected) before(c *conn) bool {
	switch {
	case i.is(CutBefore):
		return false
	case i.is(SilentBefore):
		return i.hold(c)
	default:
		return true
	}
}

// hold waits for Release; false when the server ended before.
func (i *Injected) hold(c *conn) bool {
	select {
	case <-i.gone:
		return true
	case <-c.life.done:
		return false
	}
}

func (i *Injected) executes() bool { return !i.is(Refuse) }

func (i *Injected) status() uint32 {
	if i.is(Refuse) || i.is(RefuseAfter) {
		return i.fault.Status
	}
	return 0
}

// after says whether the request is to be answered.
func (i *Injected) after(c *conn) bool {
	switch {
	case i.is(CutAfter):
		return false
	case i.is(SilentAfter):
		return i.hold(c)
	default:
		return true
	}
}

// write sends a reply and says whether the connection goes on.
func (i *Injected) write(c *conn, reply []byte) bool {
	switch {
	case i.is(CutWithin):
		_, _ = c.Write(reply[:min(len(reply), i.fault.Bytes)])
		return false
	case i.is(WrongLength):
		binary.LittleEndian.PutUint32(reply[4:], i.fault.Length)
	case i.is(Drip):
		return i.drip(c, reply)
	}
	_, err := c.Write(reply)
	return err == nil
}

func (i *Injected) drip(c *conn, reply []byte) bool {
	for at := range reply {
		if _, err := c.Write(reply[at : at+1]); err != nil {
			return false
		}
		select {
		case <-time.After(i.fault.Pace):
		case <-i.gone:
		case <-c.life.done:
			return false
		}
		if !c.server.awake(c.life) {
			return false
		}
	}
	return true
}

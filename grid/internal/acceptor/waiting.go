package acceptor

import (
	"net"
	"time"
)

// waiting holds accepted streams without a place for their handshake. Each is only a file descriptor
// until it gets a place, or has waited WaitTimes a handshake's time and is among the next to close. So
// a caller with thousands of silent streams is held up by few: closed early, they would be reopened
// early, at a higher cost to the acceptor than all honest work.
//
// A free place goes to the newest stream from an address with few handshakes.
type waiting struct {
	max   int
	count int
	of    map[string][]waiter // by address, oldest first, none empty
}

// WaitTimes multiplies a handshake's time to bound the wait for a place.
const WaitTimes = 4

// waitingMost limits waiting streams, and waitingFew if the process's file limit is unknown.
const (
	waitingMost = 8192
	waitingFew  = 256
	// expiries is the number of sweeps for overdue streams per handshake time. Each closes one in
	// expiredShare of the waiting streams, and at least expiredLeast: streams that came together would
	// otherwise be closed and reopened together, which delays other work by tenths of a second.
	expiries     = 50
	expiredShare = 256
	expiredLeast = 8
)

type waiter struct {
	conn  net.Conn
	since time.Duration // of Acceptor.ran
}

// add adds a stream. If there are too many it returns the address's oldest, which may be the stream
// itself.
func (w *waiting) add(s waiter, from string) (drop net.Conn) {
	if w.of == nil {
		w.of = map[string][]waiter{}
	}
	if w.count >= w.max {
		if len(w.of[from]) == 0 {
			return s.conn
		}
		drop = w.of[from][0].conn
		w.keep(from, w.of[from][1:])
	}
	w.of[from] = append(w.of[from], s)
	w.count++
	return drop
}

// next returns the address with the fewest handshakes in a sample; "" if it has most.
func (w *waiting) next(handshakes map[string]int, most int) (from string) {
	const some = 64 // addresses, each time others
	looked := 0
	for other := range w.of {
		if from == "" || handshakes[other] < handshakes[from] {
			from = other
		}
		if looked++; looked == some {
			break
		}
	}
	if handshakes[from] >= most {
		return ""
	}
	return from
}

// take removes an address's newest stream.
func (w *waiting) take(from string) net.Conn {
	all := w.of[from]
	conn := all[len(all)-1].conn
	w.keep(from, all[:len(all)-1])
	return conn
}

// keep replaces an address's streams with some of them.
func (w *waiting) keep(from string, rest []waiter) {
	w.count -= len(w.of[from]) - len(rest)
	w.of[from] = rest
	if len(rest) == 0 {
		delete(w.of, from)
	}
}

// before removes some streams that have waited since a time or longer.
func (w *waiting) before(end time.Duration) (gone []net.Conn) {
	most := max(expiredLeast, w.count/expiredShare)
	for from, all := range w.of {
		n := 0
		for ; n < len(all) && len(gone) < most && all[n].since <= end; n++ {
			gone = append(gone, all[n].conn)
			all[n].conn = nil
		}
		if n > 0 {
			w.keep(from, all[n:])
		}
	}
	return gone
}

// empty removes every stream.
func (w *waiting) empty() (all []net.Conn) {
	for _, some := range w.of {
		for _, s := range some {
			all = append(all, s.conn)
		}
	}
	w.of, w.count = nil, 0
	return all
}

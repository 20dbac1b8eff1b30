package transport

import (
	"net"
	"slices"
	"sync"
)

// StreamsMax bounds the streams that a member keeps open for others to its gossip, and
// those to its Raft. Honest peers need far fewer: the leader and the voters keep a few
// each, and gossip ends its own within seconds.
const StreamsMax = 128

// streamLimit bounds the accepted streams of one listener. At the limit, the stream that
// has been idle for longest is closed, so idle streams displace only other idle streams.
// Its zero value is ready.
type streamLimit struct {
	mu      sync.Mutex
	streams []*limitedStream // longest idle first; guarded by mu
}

// limitedStream is an accepted stream, which its limit may close.
type limitedStream struct {
	net.Conn
	limit *streamLimit
}

// wrap wraps a stream, which is not counted before it is admitted.
func (l *streamLimit) wrap(conn net.Conn) *limitedStream { return &limitedStream{conn, l} }

// admit counts the stream in, until it is closed.
func (s *limitedStream) admit() {
	l := s.limit
	l.mu.Lock()
	var drop *limitedStream
	if len(l.streams) == StreamsMax {
		drop = l.streams[0]
		l.streams = slices.Delete(l.streams, 0, 1)
	}
	l.streams = append(l.streams, s)
	l.mu.Unlock()
	if drop != nil {
		_ = drop.Conn.Close()
	}
}

// remove counts a stream out, and reports whether it was in. The caller holds mu.
func (l *streamLimit) remove(s *limitedStream) bool {
	i := slices.Index(l.streams, s)
	if i >= 0 {
		l.streams = slices.Delete(l.streams, i, i+1)
	}
	return i >= 0
}

func (s *limitedStream) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if n > 0 {
		s.limit.mu.Lock()
		if s.limit.remove(s) {
			s.limit.streams = append(s.limit.streams, s)
		}
		s.limit.mu.Unlock()
	}
	return n, err
}

func (s *limitedStream) Close() error {
	s.limit.mu.Lock()
	s.limit.remove(s)
	s.limit.mu.Unlock()
	return s.Conn.Close()
}

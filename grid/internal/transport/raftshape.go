package transport

import (
	"errors"
	"fmt"
)

// RaftListMax is the maximum number of elements of a list or map in a Raft request: a leader
// sends at most so many entries together.
const RaftListMax = 64

var errRequestTooLong = fmt.Errorf("grid: the Raft request has a list of more than %d elements", RaftListMax)

// raftShape checks a request as its bytes arrive, since Raft's decoder allocates 100 bytes for each
// empty entry: one type byte, one msgpack value, and for a snapshot its data, which is not checked.
type raftShape struct {
	named bool
	open  int    // values still to come
	skip  uint64 // bytes still to come of the last one
	head  []byte // of the next one, as far as it has come
}

func (s *raftShape) feed(b []byte) error {
	if !s.named && len(b) > 0 {
		s.named, s.open, b = true, 1, b[1:]
	}
	for len(b) > 0 && (s.open > 0 || s.skip > 0) {
		if n := min(s.skip, uint64(len(b))); n > 0 {
			s.skip -= n
			b = b[n:]
			continue
		}
		s.head = append(s.head, b[0])
		b = b[1:]
		if len(s.head) <= lengthBytes(s.head[0]) {
			continue
		}
		if err := s.value(); err != nil {
			return err
		}
		s.head = s.head[:0]
	}
	return nil
}

// lengthBytes returns how many bytes of a length follow the first byte of a value.
func lengthBytes(c byte) int {
	switch {
	case 0xc4 <= c && c <= 0xc6: // binary
		return 1 << (c - 0xc4)
	case 0xc7 <= c && c <= 0xc9: // extension
		return 1 << (c - 0xc7)
	case 0xd9 <= c && c <= 0xdb: // string
		return 1 << (c - 0xd9)
	case c == 0xdc || c == 0xde: // list, map
		return 2
	case c == 0xdd || c == 0xdf:
		return 4
	}
	return 0
}

func (s *raftShape) value() error {
	s.open--
	c, n := s.head[0], uint64(0)
	for _, x := range s.head[1:] {
		n = n<<8 | uint64(x)
	}
	switch {
	case 0x80 <= c && c <= 0x8f:
		return s.list(uint64(c&0x0f), 2)
	case 0x90 <= c && c <= 0x9f:
		return s.list(uint64(c&0x0f), 1)
	case c == 0xdc || c == 0xdd:
		return s.list(n, 1)
	case c == 0xde || c == 0xdf:
		return s.list(n, 2)
	case 0xa0 <= c && c <= 0xbf:
		s.skip = uint64(c & 0x1f)
	case c == 0xc1:
		return errors.New("grid: a byte of the Raft request has no meaning")
	case 0xc7 <= c && c <= 0xc9: // a type byte follows the length
		s.skip = n + 1
	case c == 0xca || c == 0xcb: // float
		s.skip = 4 << (c - 0xca)
	case 0xcc <= c && c <= 0xcf: // unsigned
		s.skip = 1 << (c - 0xcc)
	case 0xd0 <= c && c <= 0xd3: // signed
		s.skip = 1 << (c - 0xd0)
	case 0xd4 <= c && c <= 0xd8: // extension of a fixed size
		s.skip = 1<<(c-0xd4) + 1
	default: // binary and strings, and types in the first byte
		s.skip = n
	}
	return nil
}

func (s *raftShape) list(n uint64, each int) error {
	if n > RaftListMax {
		return errRequestTooLong
	}
	s.open += int(n) * each
	return nil
}

package grid

import (
	"slices"
	"sync"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// A roster of many partitions, members or numbers is larger than a request may be. It is
// pushed in pages: all but the last have no effect but to be kept.

// pagesOf divides a push with a large roster.
func pagesOf(p wire.PushRequest) []wire.PushRequest {
	if len(p.Roster) <= wire.PushPage {
		return []wire.PushRequest{p}
	}
	var out []wire.PushRequest
	offset := 0
	for page := range slices.Chunk(p.Roster, wire.PushPage) {
		of := p
		of.Roster, of.Offset, of.Size = page, offset, len(p.Roster)
		offset += len(page)
		out = append(out, of)
	}
	return out
}

// isLarge reports whether commands are too large for one push: the roster is pushed in their place.
func isLarge(p wire.PushRequest) bool {
	size := 0
	for _, c := range p.Commands {
		size += len(c.Command)
	}
	return size > wire.PushPage
}

// pushPages are the pages of the roster that is being pushed to this member. Its zero value is
// ready.
type pushPages struct {
	mu   sync.Mutex // guards what follows
	of   wire.PushRequest
	have []byte
}

// add takes a page. It returns the push of the whole roster after the last one, and false before.
func (p *pushPages) add(in wire.PushRequest) (whole wire.PushRequest, complete bool, err error) {
	if in.Size == 0 {
		return in, true, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if in.Size < 0 || in.Size > wire.MaxRoster || in.Offset < 0 || len(in.Roster) == 0 ||
		len(in.Roster) > in.Size-in.Offset {
		return in, false, failure.Errorf(wire.ErrBadRequest,
			"grid: a push with %d bytes at offset %d for a roster with %d bytes; a roster has at most %d", len(in.Roster),
			in.Offset, in.Size, wire.MaxRoster)
	}
	if in.Offset == 0 {
		p.of, p.have = in, nil
	}
	if of := p.of; in.Leader != of.Leader || in.Term != of.Term || in.Key != of.Key ||
		in.At != of.At || in.Size != of.Size || in.Offset != len(p.have) {
		return in, false, failure.Errorf(wire.ErrBadRequest,
			"grid: push: page %d of roster %d does not follow the page before; push it again", in.Offset, in.At)
	}
	p.have = append(p.have, in.Roster...)
	if len(p.have) < in.Size {
		return in, false, nil
	}
	in.Roster, in.Offset, in.Size = p.have, 0, 0
	p.of, p.have = wire.PushRequest{}, nil
	return in, true, nil
}

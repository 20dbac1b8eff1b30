package host

import (
	"context"
	"sync"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/partition"
)

// Limits on messages that wait at a member for its roster (package partition). A takeover causes one
// for each partition with a copy here.
const (
	parkedMax      = 1024
	parkedBytesMax = 32 << 20
)

// parking counts the messages that wait. Its zero value is ready.
type parking struct {
	mu           sync.Mutex // guards the fields below
	count, bytes int
}

// enter lets a message of about so many bytes wait until leave, if there is room.
func (p *parking) enter(bytes int) (leave func(), room bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count >= parkedMax || p.bytes+bytes > parkedBytesMax {
		return nil, false
	}
	p.count++
	p.bytes += bytes
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.count--
		p.bytes -= bytes
	}, true
}

// awaitTerm waits until the roster is recent enough to check a term, for no longer than a
// message is kept.
func (d *deps) awaitTerm(ctx context.Context, term roster.Term) {
	d.until(ctx, partition.ParkTime, func() bool { return partition.Shows(d.state.Roster(), term) })
}

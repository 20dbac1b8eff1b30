package sim

import (
	"maps"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A store has a current server, and after failovers also its predecessors, which may still reply. A
// write reaches the replica some time after its reply. The next server begins with the replica.

const documentKey = "sequencer"

func recordKey(node sequencer.NodeID) string { return strconv.Itoa(int(node)) }

// stored is one entry.
type stored struct {
	body     []byte
	revision string
	number   uint64 // the write's number
}

// storeServer is one run of the store's server.
type storeServer struct {
	generation string
	entries    map[string]stored
	down       time.Duration // it does not reply until then
	ends       time.Duration // it has been replaced and does not reply from then on; 0 for never
}

func (s *storeServer) answers(now time.Duration) bool {
	return now >= s.down && (s.ends == 0 || now < s.ends)
}

// put writes an entry unconditionally.
func (f *fleet) put(s *storeServer, key string, body []byte) string {
	f.writes++
	e := stored{body: body, revision: strconv.FormatUint(f.writes, 10), number: f.writes}
	s.entries[key] = e
	f.w.after(f.w.between(0, 2*time.Second), func() {
		if s == f.servers[len(f.servers)-1] && f.replica[key].number < e.number {
			f.replica[key] = e
		}
	})
	return e.revision
}

// failover replaces the server with a new server that begins with the replica.
func (f *fleet) failover() {
	old := f.servers[len(f.servers)-1]
	old.ends = f.w.now + f.w.between(0, f.cfg.Late)
	f.servers = append(f.servers, &storeServer{generation: strconv.Itoa(len(f.servers) + 1),
		entries: maps.Clone(f.replica)})
	f.result.Replaced++
}

// swapped is the reply to a swap.
type swapped struct {
	answer   record.Answer
	revision string
}

// swap writes an entry at a server if it has the given revision; generation "" matches any.
func (f *fleet) swap(s *storeServer, key string, body []byte, revision, generation string) swapped {
	if s.entries[key].revision != revision || generation != "" && generation != s.generation {
		return swapped{answer: record.Refused}
	}
	if node, err := strconv.Atoi(key); err == nil {
		if r, err := record.Decode(body, nil); err == nil {
			f.bounds[sequencer.NodeID(node)] = max(f.bounds[sequencer.NodeID(node)], r.Bound)
		}
	}
	return swapped{record.Landed, f.put(s, key, body)}
}

// server returns the server for a request: the current one, or its predecessor.
func (f *fleet) server() *storeServer {
	last := len(f.servers) - 1
	if last > 0 && f.servers[last-1].answers(f.w.now) && f.w.chance(0.5) {
		return f.servers[last-1]
	}
	return f.servers[last]
}

// storeTimeout bounds one call to a store.
const storeTimeout = 2 * time.Second

// callStore makes a holder's call to a server. Request and reply may be lost, late, or duplicated.
// It calls done without a reply on timeout, and again if the reply arrives later.
func callStore[T any](h *storeHolder, s *storeServer, ask func() T, done func(answer T, answered bool)) {
	w, cfg := h.w, h.f.cfg
	var none T
	over := false
	h.after(storeTimeout, func() {
		if !over {
			over = true
			done(none, false)
		}
	})
	arrive := func() {
		if !s.answers(w.now) {
			return
		}
		answer := ask()
		if !w.chance(cfg.Lost) {
			h.after(h.latency(), func() {
				over = true
				done(answer, true)
			})
		}
	}
	if h.cut > w.now || w.chance(cfg.Lost) {
		return
	}
	w.after(h.latency(), arrive)
	if w.chance(cfg.Twice) {
		w.after(w.between(0, 30*time.Second), func() {
			if s.answers(w.now) {
				ask() // a late copy; its reply is ignored
			}
		})
	}
}

// latency draws a message's delay.
func (h *storeHolder) latency() time.Duration {
	if h.w.chance(0.02) {
		return h.w.between(0, 10*time.Second)
	}
	return h.w.between(time.Millisecond, 20*time.Millisecond)
}

// seen returns a record from a server.
func (s *storeServer) seen(node sequencer.NodeID) record.Seen {
	e, there := s.entries[recordKey(node)]
	if !there {
		return record.Seen{Err: record.ErrDamaged}
	}
	r, err := record.Decode(e.body, nil)
	return record.Seen{Record: r, Revision: e.revision, Err: err}
}

// document returns the sequencer's document from a server.
func (s *storeServer) document() (record.Document, string, error) {
	e := s.entries[documentKey]
	d, err := record.DecodeDocument(e.body)
	return d, e.revision, err
}

// quarantine returns the span from rule Q2.
func (f *fleet) quarantine() clustertime.Span {
	if !f.cfg.Lossy {
		return 0
	}
	return f.cfg.Window + clustertime.SpanOf(f.cfg.Late+f.cfg.Skew) + 2 // rounded up
}

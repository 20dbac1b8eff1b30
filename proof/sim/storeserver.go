package sim

import (
	"maps"
	"strconv"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// A store is a server, and after failovers its predecessors, which may still answer. A write
// reaches the replica, which the next server begins with, some time after its answer.

const documentKey = "sequencer"

func recordKey(node sequencer.NodeID) string { return strconv.Itoa(int(node)) }

// stored is one entry.
type stored struct {
	body     []byte
	revision string
	number   uint64 // of the write
}

// storeServer is one start of the store's server.
type storeServer struct {
	generation string
	entries    map[string]stored
	down       time.Duration // it answers nothing until then
	ends       time.Duration // it was replaced and answers nothing from then on; 0 = never
}

func (s *storeServer) answers(now time.Duration) bool {
	return now >= s.down && (s.ends == 0 || now < s.ends)
}

// put writes an entry without a condition.
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

// failover replaces the server by one that begins with the replica.
func (f *fleet) failover() {
	old := f.servers[len(f.servers)-1]
	old.ends = f.w.now + f.w.between(0, f.cfg.Late)
	f.servers = append(f.servers, &storeServer{generation: strconv.Itoa(len(f.servers) + 1),
		entries: maps.Clone(f.replica)})
	f.result.Replaced++
}

// swapped is the answer to a swap.
type swapped struct {
	answer   record.Answer
	revision string
}

// swap writes an entry at a server if it is at a revision; generation "" is any.
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

// server returns the one that a request goes to: the present one, or the one before.
func (f *fleet) server() *storeServer {
	last := len(f.servers) - 1
	if last > 0 && f.servers[last-1].answers(f.w.now) && f.w.chance(0.5) {
		return f.servers[last-1]
	}
	return f.servers[last]
}

// storeTimeout bounds one call to a store.
const storeTimeout = 2 * time.Second

// callStore has a holder ask a server. Request and answer may be lost, late, or come again;
// done is called without an answer when the time is over, and also when the answer comes
// after that.
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
				ask() // a late copy, whose answer nothing waits for
			}
		})
	}
}

// latency draws the time of a message.
func (h *storeHolder) latency() time.Duration {
	if h.w.chance(0.02) {
		return h.w.between(0, 10*time.Second)
	}
	return h.w.between(time.Millisecond, 20*time.Millisecond)
}

// seen returns a record as a server has it.
func (s *storeServer) seen(node sequencer.NodeID) record.Seen {
	e, there := s.entries[recordKey(node)]
	if !there {
		return record.Seen{Err: record.ErrDamaged}
	}
	r, err := record.Decode(e.body, nil)
	return record.Seen{Record: r, Revision: e.revision, Err: err}
}

// document returns the sequencer's document as a server has it.
func (s *storeServer) document() (record.Document, string, error) {
	e := s.entries[documentKey]
	d, err := record.DecodeDocument(e.body)
	return d, e.revision, err
}

// quarantine is Q2's span.
func (f *fleet) quarantine() clustertime.Span {
	if !f.cfg.Lossy {
		return 0
	}
	return f.cfg.Window + clustertime.SpanOf(f.cfg.Late+f.cfg.Skew) + 2 // rounded up
}

package explore

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/roster"
)

// world is one state of the grid: the log, the processes, the messages in transit, and the ledger
// with every holder's rights. Slices are shared between worlds and never written to.
type world struct {
	log       []rosterID
	unheard   bool // no member has received the last entry yet
	processes [maxMembers]processID
	started   [maxMembers]uint8 // each member's number of earlier processes
	letters   []letterID        // ever sent; ascending
	replies   []replyID         // ascending
	held      []holding
	lives     []life
	births    uint8 // lives ever started, acknowledged or not
	holders   [maxHolders]holder
}

// holding is an owner's report to the leader about a joiner (roster.Holding).
type holding struct{ member, version uint8 }

// life is a life of the name that some reply has contained.
type life struct {
	ref   refID
	since uint8 // the version of the earliest such reply
}

// holder is one attachment and its holder. Ticks count from base; sets of ticks and of nodes are
// bits.
type holder struct {
	began    bool
	life     int8  // index in world.lives
	node     int8  // its current node; -1 none yet
	answered uint8 // nodes in replies so far
	version  uint8 // the earliest that it may present
	gone     bool  // returned
	used     int8  // the last tick used when it was returned, -1 none
	starts   uint8 // grant starts in replies so far
	rights   [maxNodes]uint8
}

// start returns the initial world in a scope: every member has the first roster, and all replicas
// have one life of the name. The start's messages are no longer in transit.
func (l *lab) start() (world, error) {
	unformed := &roster.Roster{Partitions: make([]roster.Partition, 1)}
	keep(&l.rosters, unformed)
	first, err := l.begin()
	if err != nil {
		return world{}, err
	}
	w := world{log: []rosterID{keep(&l.rosters, first)}}
	for h := range w.holders {
		w.holders[h] = holder{node: -1, used: -1}
	}
	for m := range maxMembers {
		w.processes[m] = l.newProcess(incarnation(m, 0), 0)
	}
	for m := range maxMembers {
		if m < l.members() {
			w, _ = l.input(w, m, input{kind: inLearn, roster: w.log[0]})
		}
	}
	w = l.quietly(w, input{kind: inCreate, life: l.births[0]})
	for h := range int8(l.scope.Attached) {
		w = l.quietly(w, input{kind: inAttach, holder: h, node: h % int8(l.scope.Nodes), life: w.lives[0].ref, version: 2})
	}
	if w.replies = nil; !l.scope.Early {
		w.letters = nil
	}
	for h := range w.holders {
		if h < l.scope.Attached && w.holders[h].answered != 0 {
			w.holders[h].node = int8(h % l.scope.Nodes)
		}
	}
	if len(w.lives) != 1 {
		return world{}, fmt.Errorf("explore: scope %q begins without a sequencer", l.scope.Name)
	}
	return w, nil
}

// quietly sends a request to A and lets every replica receive and acknowledge it.
func (l *lab) quietly(w world, in input) world {
	w, _ = l.ask(w, inputStep(0, in))
	for range 2 * maxMembers {
		for _, id := range w.letters {
			w, _ = l.input(w, memberOf(l.letters.get(id).to), input{kind: inLetter, letter: id})
		}
		for _, id := range w.replies {
			w, _ = l.input(w, 0, input{kind: inReply, reply: id})
		}
	}
	return w
}

// input delivers an input to a member's process and applies the outcome. It reports false if there
// is none.
func (l *lab) input(w world, m int, in input) (world, bool) {
	out := l.run(w.processes[m], in)
	if out == nil {
		return w, false
	}
	w.processes[m] = out.process
	for _, id := range out.letters {
		w.letters = with(w.letters, id)
	}
	for _, id := range out.replies {
		w.replies = with(w.replies, id)
	}
	for _, h := range out.admission {
		w.held = withHolding(w.held, holding{uint8(memberOf(h.Member)), uint8(h.Version)})
	}
	for _, a := range out.answers {
		w = l.take(w, a)
	}
	return l.tidy(w), true
}

// with returns an ascending slice with one more value.
func with[T ~uint32](s []T, v T) []T {
	at, found := slices.BinarySearch(s, v)
	if found {
		return s
	}
	return slices.Insert(slices.Clone(s), at, v)
}

func withHolding(s []holding, h holding) []holding {
	if slices.Contains(s, h) {
		return s
	}
	s = append(slices.Clone(s), h)
	slices.SortFunc(s, func(a, b holding) int {
		return int(a.version)*4 + int(a.member) - int(b.version)*4 - int(b.member)
	})
	return s
}

// tidy removes messages that can no longer have an effect: messages to ended processes, and
// messages in terms in which neither side acts or accepts again.
func (l *lab) tidy(w world) world {
	newest := func(i roster.Incarnation) (roster.Term, bool) {
		id := w.processes[memberOf(i)]
		return l.views[id].newest, l.processes.get(id).self == i
	}
	dead := func(id letterID) bool {
		m := l.letters.get(id)
		to, alive := newest(m.to)
		from, there := newest(m.from)
		term := m.update.Position.Term
		return !alive || !l.scope.Late && to > term && (from > term || !there)
	}
	over := func(id replyID) bool {
		m := l.replies.get(id)
		to, alive := newest(m.to)
		return !alive || to > m.holds.Held.Term && to >= m.holds.Newest && !m.holds.Gap
	}
	if slices.ContainsFunc(w.letters, dead) {
		w.letters = slices.DeleteFunc(slices.Clone(w.letters), dead)
	}
	if slices.ContainsFunc(w.replies, over) {
		w.replies = slices.DeleteFunc(slices.Clone(w.replies), over)
	}
	version := uint8(l.newest(w).Version)
	old := func(h holding) bool { return h.version < version && l.weak != AdmissionRebased }
	if slices.ContainsFunc(w.held, old) {
		w.held = slices.DeleteFunc(slices.Clone(w.held), old)
	}
	return w
}

func (l *lab) newest(w world) *roster.Roster { return l.rosters.get(w.log[len(w.log)-1]) }

// append appends a world's canonical bytes.
func (w *world) append(b []byte) []byte {
	b = append(appendIDs(b, w.log), bit(w.unheard))
	for m := range w.processes {
		b = binary.AppendUvarint(b, uint64(w.processes[m]))
		b = append(b, w.started[m])
	}
	b = appendIDs(b, w.letters)
	b = appendIDs(b, w.replies)
	b = append(b, byte(len(w.held)))
	for _, h := range w.held {
		b = append(b, h.member, h.version)
	}
	b = append(b, w.births, byte(len(w.lives)))
	for _, f := range w.lives {
		b = binary.AppendUvarint(b, uint64(f.ref))
		b = append(b, f.since)
	}
	for _, h := range w.holders {
		b = append(b, bit(h.began)|bit(h.gone)<<1, byte(h.life), byte(h.node), h.answered, h.version, byte(h.used), h.starts)
		b = append(b, h.rights[:]...)
	}
	return b
}

// readWorld decodes the output of append.
func readWorld(b []byte) world {
	var w world
	b, w.log = readIDs[rosterID](b)
	w.unheard, b = b[0] != 0, b[1:]
	for m := range w.processes {
		id, n := binary.Uvarint(b)
		w.processes[m], w.started[m] = processID(id), b[n]
		b = b[n+1:]
	}
	b, w.letters = readIDs[letterID](b)
	b, w.replies = readIDs[replyID](b)
	n := int(b[0])
	b = b[1:]
	for range n {
		w.held = append(w.held, holding{b[0], b[1]})
		b = b[2:]
	}
	w.births, n = b[0], int(b[1])
	b = b[2:]
	for range n {
		id, used := binary.Uvarint(b)
		w.lives = append(w.lives, life{refID(id), b[used]})
		b = b[used+1:]
	}
	for i := range w.holders {
		h := &w.holders[i]
		h.began, h.gone = b[0]&1 != 0, b[0]&2 != 0
		h.life, h.node, h.answered, h.version, h.used, h.starts = int8(b[1]), int8(b[2]), b[3], b[4], int8(b[5]), b[6]
		copy(h.rights[:], b[7:])
		b = b[7+maxNodes:]
	}
	return w
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendIDs[T ~uint32](b []byte, ids []T) []byte {
	b = append(b, byte(len(ids)))
	for _, id := range ids {
		b = binary.AppendUvarint(b, uint64(id))
	}
	return b
}

func readIDs[T ~uint32](b []byte) ([]byte, []T) {
	n := int(b[0])
	b = b[1:]
	ids := make([]T, n)
	for i := range ids {
		id, used := binary.Uvarint(b)
		ids[i] = T(id)
		b = b[used:]
	}
	return b, ids
}

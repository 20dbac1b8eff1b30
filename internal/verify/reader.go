package verify

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/foreign"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Progress is updated during a check.
type Progress struct {
	Rows    atomic.Uint64 // read
	Bytes   atomic.Uint64 // read
	Merging atomic.Bool   // all rows were read
	Merged  atomic.Uint64
}

// reader parses the rows in its own goroutine, and sends them in chunks.
type reader struct {
	ctx      context.Context
	cfg      Config
	progress *Progress
	chunks   chan []row
	chunk    []row
	// The rest is read after chunks is closed.
	err         error
	rows, ids   uint64
	blank       uint64
	header      string
	first, last row
	nodes       map[uint32]*track
	recent      *track // the row before
	backs       uint64
	hosts       hostNames
	found       findings
	// since and until are the first and the last time, in units since the epoch.
	since, until uint64
	size         int // rows in a chunk
}

// track is a node's row before.
type track struct {
	node  uint32
	ticks uint64
	line  uint64
	rows  uint64
	first uint64 // line
}

// ticksAt returns the units from the epoch to a time; 0 for an earlier one.
func ticksAt(f foreign.Format, t time.Time) uint64 {
	ms := t.UnixMilli() - f.Epoch.UnixMilli()
	return uint64(max(0, ms)) / uint64(f.Unit.Milliseconds())
}

func newReader(ctx context.Context, cfg Config, progress *Progress) *reader {
	r := &reader{
		ctx: ctx, cfg: cfg, progress: progress, chunks: make(chan []row), nodes: map[uint32]*track{},
		found: findings{show: cfg.Show, count: map[Kind]uint64{}, kept: map[Kind][]Finding{}}, until: math.MaxUint64,
		size: cmp.Or(cfg.chunk, chunkRows),
	}
	if !cfg.Since.IsZero() {
		r.since = ticksAt(cfg.Format, cfg.Since)
	}
	if !cfg.Until.IsZero() {
		r.until = ticksAt(cfg.Format, cfg.Until)
	}
	return r
}

func (r *reader) run(in io.Reader) {
	defer close(r.chunks)
	read := r.readLines
	if r.cfg.Columns != (Columns{}) {
		read = r.readColumns
	}
	if r.err = read(&countingReader{from: in, n: &r.progress.Bytes}); r.err == nil {
		r.send()
	}
	r.progress.Rows.Store(r.rows)
}

type countingReader struct {
	from io.Reader
	n    *atomic.Uint64
}

func (c *countingReader) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.n.Add(uint64(n))
	return n, err
}

func (r *reader) send() {
	if len(r.chunk) == 0 {
		return
	}
	select {
	case r.chunks <- r.chunk:
	case <-r.ctx.Done():
		r.err = context.Cause(r.ctx)
	}
	r.chunk = nil
}

func (r *reader) add(text []byte, line uint64, host []byte) error {
	r.rows++
	if r.rows&0xfff == 0 {
		r.progress.Rows.Store(r.rows)
	}
	id, negative, ok := parseID(text)
	switch {
	case negative:
		r.found.add(Finding{Kind: Early, Line: line, Text: excerpt(text)})
		return nil
	case !ok:
		r.found.add(Finding{Kind: NotAnID, Line: line, Text: excerpt(text)})
		return nil
	case !r.cfg.Format.Fits(sequencer.ID(id)):
		r.found.add(Finding{Kind: Foreign, Line: line, ID: sequencer.ID(id)})
		return nil
	}
	ticks, node, _ := r.cfg.Format.Ticks(sequencer.ID(id))
	usual := true
	if n := r.cfg.Nodes; n != nil && (node < n.Lo || node > n.Hi) {
		usual = false
		r.found.add(Finding{Kind: Foreign, Line: line, ID: sequencer.ID(id)})
	}
	switch {
	case ticks < r.since:
		usual = false
		r.found.add(Finding{Kind: Early, Line: line, ID: sequencer.ID(id)})
	case ticks > r.until:
		usual = false
		r.found.add(Finding{Kind: Future, Line: line, ID: sequencer.ID(id)})
	}
	of := r.track(node, line)
	if usual {
		r.follow(of, id, ticks, line)
		r.widen(row{id, line})
	}
	return r.keep(id, line, host)
}

// track returns a node's track, and counts a row of the node.
func (r *reader) track(node uint32, line uint64) *track {
	of := r.recent
	if of == nil || of.node != node {
		if of = r.nodes[node]; of == nil {
			of = &track{node: node, first: line}
			r.nodes[node] = of
		}
		r.recent = of
	}
	of.rows++
	return of
}

// follow compares the time with the node's row before. A row with a wrong time or node is none.
func (r *reader) follow(of *track, id, ticks, line uint64) {
	if ticks < of.ticks {
		r.backs++
		if r.cfg.Order != Unordered {
			back := span(of.ticks-ticks, r.cfg.Format.Unit)
			r.found.add(Finding{Kind: Backwards, Line: line, ID: sequencer.ID(id), With: of.line, Back: back})
		}
	}
	of.ticks, of.line = ticks, line
}

func (r *reader) keep(id, line uint64, host []byte) error {
	at := line
	if host != nil {
		number, err := r.hosts.number(host)
		if err != nil {
			return err
		}
		at |= uint64(number) << lineBits
	}
	one := row{id, at}
	r.ids++
	if r.chunk == nil {
		r.chunk = make([]row, 0, r.size)
	}
	if r.chunk = append(r.chunk, one); len(r.chunk) == r.size {
		r.send()
	}
	return r.err
}

// widen extends the range from the first to the last ID, in which IDs with a wrong time or node do not count.
func (r *reader) widen(one row) {
	if r.first == (row{}) || one.id < r.first.id {
		r.first = one
	}
	if r.last == (row{}) || one.id >= r.last.id {
		r.last = one
	}
}

// ordered reports whether steps back in time are findings.
func (r *reader) ordered() bool {
	switch r.cfg.Order {
	case Made:
		return true
	case Unordered:
		return false
	}
	return r.backs <= 10 || r.backs <= r.ids/20
}

// rare returns the nodes with less than a thousandth of the average rows, at most cfg.Show.
func (r *reader) rare() (nodes []RareNode) {
	for _, node := range slices.Sorted(maps.Keys(r.nodes)) {
		of := r.nodes[node]
		if of.rows*1000*uint64(len(r.nodes)) < r.ids && len(nodes) < r.cfg.Show {
			nodes = append(nodes, RareNode{Node: node, Rows: of.rows, Line: of.first})
		}
	}
	return nodes
}

func (r row) bound(f foreign.Format) Bound {
	if r == (row{}) {
		return Bound{}
	}
	return Bound{ID: sequencer.ID(r.id), Line: r.line(), Time: f.Decompose(sequencer.ID(r.id)).Time}
}

// parseID reads a decimal number below 2^63, in quotes or not. negative reports a number below 0.
func parseID(text []byte) (id uint64, negative, ok bool) {
	text = bytes.TrimSpace(text)
	if len(text) > 1 && text[0] == text[len(text)-1] && (text[0] == '"' || text[0] == '\'') {
		text = text[1 : len(text)-1]
	}
	if len(text) > 1 && text[0] == '-' {
		_, _, negative = parseID(text[1:])
		return 0, negative, false
	}
	if len(text) == 0 || len(text) > 19 {
		return 0, false, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false, false
		}
		id = id*10 + uint64(c-'0')
	}
	return id, false, id < 1<<63
}

// excerpt returns up to 40 bytes, quoted.
func excerpt(text []byte) string {
	const most = 40
	if len(text) > most {
		return fmt.Sprintf("%q...", text[:most])
	}
	return fmt.Sprintf("%q", text)
}

// hostNames numbers the hosts from 1, so that 0 stands for none.
type hostNames struct {
	names   []string
	numbers map[string]int
	recent  int
}

// hostsMax limits the hosts.
const hostsMax = 100_000

func (h *hostNames) number(name []byte) (int, error) {
	if h.recent > 0 && h.names[h.recent-1] == string(name) {
		return h.recent, nil
	}
	n, known := h.numbers[string(name)]
	if !known {
		if len(h.names) == hostsMax {
			return 0, fmt.Errorf("%w: more than %d hosts; is the host column the right one?", ErrColumns, hostsMax)
		}
		if h.numbers == nil {
			h.numbers = map[string]int{}
		}
		h.names = append(h.names, string(name))
		n = len(h.names)
		h.numbers[string(name)] = n
	}
	h.recent = n
	return n, nil
}

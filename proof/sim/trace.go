package sim

import (
	"fmt"
	"io"
	"time"
)

// kind is the kind of an event of the trace.
type kind uint8

const (
	faulted kind = iota
	committed
	refused
	elected
	configured
	becameOwner
	stopped
	lost
	granted
	attached
	released
	issued
	created
	destroyed
	expired
	joined
	left
	collected
	stood
	copyEnded
	began
	quiet
	failed
)

// kinds defines each kind's name, and the meaning of its two numbers.
var kinds = [...]struct{ name, a, b string }{
	faulted:     {"fault", "kind of fault", "whom it hits"},
	committed:   {"commit", "roster version", "ceiling"},
	refused:     {"refuse", "version it was computed from", "version by then"},
	elected:     {"elect", "roster version", "servers"},
	configured:  {"servers", "1 added, 2 promoted, 3 demoted, 4 removed", "servers"},
	becameOwner: {"owner", "partition", "term"},
	lost:        {"lose", "partition", "roster version"},
	stopped:     {"stop", "first tick never granted", "roster version"},
	granted:     {"grant", "from", "until"},
	attached:    {"attach", "name", "logical node"},
	released:    {"release", "logical node", "last timestamp used"},
	issued:      {"issue", "first ID", "how many"},
	created:     {"create", "name", "roster version"},
	destroyed:   {"destroy", "name", "logical node given back, -1 for none"},
	expired:     {"expire", "partition", "logical node"},
	joined:      {"start", "seat", "with a disk"},
	left:        {"end", "seat", "0 crash, 1 leave"},
	collected:   {"collect", "partition", "names"},
	stood:       {"stand", "term of the leader", "servers"},
	copyEnded:   {"copy", "seat", "roster version"},
	began:       {"begin", "1 from directories, 2 from members", "where grants begin"},
	quiet:       {"quiet", "members", "holders"},
	failed:      {"FAILED", "", ""},
}

// trace is a digest of all events, and optionally their text.
type trace struct {
	hash uint64
	out  io.Writer
}

func newTrace() trace { return trace{hash: 0xcbf29ce484222325} }

// legend writes the key to the text.
func legend(out io.Writer) {
	_, _ = fmt.Fprintln(out,
		"# virtual time, event, who, two numbers. m = member, by seat and start; h = holder. Times are in Unix ms.")
	for _, k := range kinds {
		_, _ = fmt.Fprintf(out, "# %-8s %s; %s\n", k.name, k.a, k.b)
	}
	for i, f := range faultNames {
		_, _ = fmt.Fprintf(out, "# fault %-2d %s\n", i, f)
	}
}

func (t *trace) note(now time.Duration, k kind, who string, a, b int64) {
	t.mix(uint64(now))
	t.mix(uint64(k))
	for i := range len(who) {
		t.mix(uint64(who[i]))
	}
	t.mix(uint64(a))
	t.mix(uint64(b))
	if t.out != nil {
		_, _ = fmt.Fprintf(t.out, "%13.6f %-8s %-8s %d %d\n", now.Seconds(), kinds[k].name, who, a, b)
	}
}

// mix is a step of FNV-1a, eight bytes at a time.
func (t *trace) mix(n uint64) {
	t.hash = (t.hash ^ n) * 0x100000001b3
	t.hash ^= t.hash >> 29
}

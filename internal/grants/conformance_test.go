package grants

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	sequencerepoch "github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

var update = flag.Bool("update-conformance", false, "write clients/conformance.json")

const conformanceFile = "../../clients/conformance.json"

// step is one event of a case, or an expectation about the state after the ones before. Exactly one field
// besides At is set.
type step struct {
	At int64 `json:"at"` // reading of the monotonic clock, ms

	Request *string  `json:"request,omitempty"` // the grant in the next request; "" is none
	Reply   *Reply   `json:"reply,omitempty"`
	Refused *Refusal `json:"refused,omitempty"`
	Fork    bool     `json:"fork,omitempty"`

	IDs     []string  `json:"ids,omitempty"`  // the next IDs
	Many    *many     `json:"many,omitempty"` // so many more IDs
	Wait    *int64    `json:"wait,omitempty"` // no ID for so many ms, or, if 0, until a reply
	Error   string    `json:"error,omitempty"`
	Due     *[2]int64 `json:"due,omitempty"` // the next request is due from the first time to the second
	Release *release  `json:"release,omitempty"`
}

type many struct {
	Count int    `json:"count"`
	First string `json:"first"`
	Last  string `json:"last"`
}

type release struct {
	Grant string `json:"grant"`
	Last  int64  `json:"last"`
}

type testCase struct {
	Name  string `json:"name"`
	Rule  string `json:"rule"`
	Steps []step `json:"steps"`
}

type conformance struct {
	About    string     `json:"about"`
	Cases    []testCase `json:"cases"`
	Requests []request  `json:"requests"`
	Releases []released `json:"releases"`
	Parts    []parts    `json:"parts"`
	Ranges   []idRange  `json:"ranges"`
}

// layout is the part of a reply that depends on the sequencer alone.
type layout struct {
	Epoch     int64 `json:"epoch"`
	TimeShift int   `json:"time_shift"`
	NodeShift int   `json:"node_shift"`
	Counters  int64 `json:"counters"`
	Ends      int64 `json:"ends"`
}

// parts are the fields of an ID.
type parts struct {
	layout
	ID      string `json:"id"`
	Time    int64  `json:"time"`
	Node    int64  `json:"node"`
	Counter int64  `json:"counter"`
}

// idRange has the smallest and the largest possible ID of a time.
type idRange struct {
	layout
	Time int64  `json:"time"`
	Min  string `json:"min"`
	Max  string `json:"max"`
}

// definitions has the Go configuration of each layout.
var definitions = map[string]sequencer.Config{
	"default": {},
	"twitter": {Layout: sequencer.Twitter(), Epoch: sequencerepoch.Twitter},
	"jssafe":  {Layout: sequencer.JSSafe()},
}

// describe adds the parts and the ranges of IDs, as package sequencer has them.
func describe(t *testing.T, out *conformance) {
	for _, name := range []string{"default", "twitter", "jssafe"} {
		def, err := sequencer.Define("orders", definitions[name])
		if err != nil {
			t.Fatal(err)
		}
		r := layouts[name]
		l := layout{r.Epoch, r.TimeShift, r.NodeShift, r.Counters, r.Ends}
		if def.Config().Epoch.UnixMilli() != l.Epoch || def.Exhausted().UnixMilli() != l.Ends {
			t.Fatalf("%s is %v", name, def)
		}
		for _, p := range []sequencer.Parts{
			{Time: time.UnixMilli(l.Epoch)}, {Time: time.UnixMilli(began), Node: sequencer.NodeID(r.Node), Counter: 7},
			{Time: time.UnixMilli(l.Ends - 1), Node: sequencer.NodeID(def.Config().Nodes - 1), Counter: uint32(l.Counters - 1)},
		} {
			id, err := def.Compose(p)
			if err != nil || def.Decompose(id) != (sequencer.Parts{Time: p.Time.UTC(), Node: p.Node, Counter: p.Counter}) {
				t.Fatalf("%s: %v, %v", name, id, err)
			}
			out.Parts = append(out.Parts, parts{l, id.String(), p.Time.UnixMilli(), int64(p.Node), int64(p.Counter)})
		}
		for _, at := range []int64{0, l.Epoch - 1, l.Epoch, began, l.Ends - 1, l.Ends, l.Ends + 1} {
			at := time.UnixMilli(at)
			out.Ranges = append(out.Ranges, idRange{l, at.UnixMilli(), def.MinID(at).String(), def.MaxID(at).String()})
		}
	}
}

// outcomes are the texts of errors.
var outcomes = map[error]string{ErrDestroyed: "destroyed", ErrExhausted: "exhausted", ErrReleased: "ended"}

// recorder runs a generator and records what it does.
type recorder struct {
	t     *testing.T
	g     *Generator
	at    int64
	steps []step
}

func (r *recorder) add(s step) {
	s.At = r.at
	r.steps = append(r.steps, s)
}

// passes moves the clock.
func (r *recorder) passes(ms int64) { r.at += ms }

func (r *recorder) request() {
	if _, ready := r.g.Due(); !ready {
		r.t.Fatalf("a request is in progress at %d", r.at)
	}
	grant := r.g.Request(r.at)
	r.add(step{Request: &grant})
}

func (r *recorder) reply(reply Reply) {
	r.g.Replied(r.at, reply)
	r.add(step{Reply: &reply})
}

// granted is a request and its reply.
func (r *recorder) granted(reply Reply) { r.request(); r.reply(reply) }

// refused is a request and a refusal.
func (r *recorder) refused(f Refusal) {
	r.request()
	r.g.Refused(r.at, f)
	r.add(step{Refused: &f})
}

// due records when the next request is due. Without a jitter that is the latest time; with the largest
// one it is half the pause.
func (r *recorder) due(jitter int64) {
	at, _ := r.g.Due()
	r.add(step{Due: &[2]int64{at - jitter, at}})
}

func (r *recorder) fork() { r.g.Forked(); r.add(step{Fork: true}) }

func (r *recorder) release() {
	grant, last := r.g.Release()
	r.add(step{Release: &release{grant, last}})
}

// next records what n calls do, until one makes no ID.
func (r *recorder) next(n int) {
	var ids []string
	flush := func() {
		if len(ids) > 4 {
			r.add(step{Many: &many{len(ids), ids[0], ids[len(ids)-1]}})
		} else if len(ids) > 0 {
			r.add(step{IDs: ids})
		}
	}
	for range n {
		id, wait, err := r.g.Next(r.at)
		if id == 0 || err != nil {
			flush()
			if err != nil {
				r.add(step{Error: outcomes[err]})
			} else {
				r.add(step{Wait: &wait})
			}
			return
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	flush()
}

const (
	began = 1_795_645_800_000 // the grid's time at which cases begin
	epoch = 1_767_225_600_000
)

// layouts are replies of three sequencers, with a node and without times.
var layouts = map[string]Reply{
	"default": {Node: 17, Epoch: epoch, TimeShift: 23, NodeShift: 10, Counters: 1024, Ends: epoch + 1<<40},
	"twitter": {Node: 5, Epoch: 1_288_834_974_657, TimeShift: 22, NodeShift: 12, Counters: 4096,
		Ends: 1_288_834_974_657 + 1<<41},
	"jssafe": {Node: 63, Epoch: epoch, TimeShift: 12, NodeShift: 6, Counters: 64, Ends: epoch + 1<<41},
}

// with returns a reply of a layout. Times are relative to began; number distinguishes grants.
func with(layout string, number int, from, until, now int64) Reply {
	r := layouts[layout]
	r.Grant = fmt.Sprint("g1.", number)
	r.From, r.Until, r.Now, r.RenewIn = began+from, began+until, began+now, 3750
	return r
}

func onNode(r Reply, node int64, replaced bool) Reply { r.Node, r.Replaced = node, replaced; return r }

// cases are the scripts, each for one rule.
var cases = []struct {
	name, rule string
	run        func(r *recorder)
}{
	{"no ID before the first reply", "G1", func(r *recorder) { r.next(1); r.request(); r.next(1) }},
	{"no ID at the end of the grant", "G1", func(r *recorder) {
		r.granted(with("default", 1, 0, 100, 0))
		r.passes(99)
		r.next(1)
		r.passes(1)
		r.next(1)
		r.passes(100_000)
		r.next(1)
	}},
	{"no ID before the grant begins", "G3", func(r *recorder) {
		r.granted(with("default", 1, 50, 15_000, 0))
		r.next(1)
		r.passes(49)
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"a grant that is empty", "G1", func(r *recorder) {
		r.granted(with("default", 1, 50, 50, 0))
		r.next(1)
		r.passes(60)
		r.next(1)
		r.granted(with("default", 2, 50, 15_050, 60))
		r.next(1)
	}},
	{"no ID at the end of the layout", "G1", func(r *recorder) {
		reply := with("default", 1, 0, 15_000, 0)
		reply.Ends = began + 5
		r.granted(reply)
		r.passes(4)
		r.next(2)
		r.passes(1)
		r.next(1)
	}},
	{"a clock that stands uses up a millisecond", "G4", func(r *recorder) {
		r.granted(with("jssafe", 1, 0, 15_000, 0))
		r.next(65)
		r.next(1)
		r.passes(1)
		r.next(65)
	}},
	{"time goes on with the monotonic clock", "G2", func(r *recorder) {
		r.passes(12_345)
		r.granted(with("default", 1, 0, 15_000, 0))
		for range 5 {
			r.passes(1001)
			r.next(2)
		}
	}},
	{"a reply that shows a later time", "G2", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(1)
		r.passes(1000)
		r.granted(with("default", 2, 0, 17_000, 1400))
		r.next(1)
	}},
	{"a reply that took long shows an earlier time", "G2", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(1000)
		r.next(1)
		r.granted(with("default", 2, 0, 15_600, 600))
		r.next(2)
		r.passes(10)
		r.next(1)
	}},
	{"the time of the eleventh reply before does not count", "G2", func(r *recorder) {
		r.granted(with("jssafe", 1, 0, 15_000, 2000)) // too early by 2 s
		for i := range 10 {
			r.passes(100)
			r.granted(with("jssafe", 2+i, 0, 15_000, int64(i+1)*100))
			r.next(1)
		}
		r.next(70) // time is before the last ID: its millisecond is used up, and then it waits
		r.passes(1000)
		r.next(1)
		r.passes(1100)
		r.next(1)
	}},
	{"a clock that is fast by 200 ppm for a week", "G2", func(r *recorder) {
		for day := range int64(8) {
			for i := range int64(3) {
				at := day*86_400_000 + i*3750
				r.at = at + at/5000
				r.granted(with("default", int(3*day+i), day*86_400_000, at+15_000, at))
				r.next(1)
			}
		}
	}},
	{"the time of a reply counts for a minute", "G2", func(r *recorder) {
		r.granted(with("default", 1, 0, 100_000, 500))
		r.passes(60_000)
		r.granted(with("default", 2, 0, 100_000, 60_000))
		r.next(1)
		r.passes(1)
		r.granted(with("default", 3, 0, 100_000, 60_001))
		r.passes(1000)
		r.next(1)
	}},
	{"time that falls holds the last timestamp", "G3", func(r *recorder) {
		r.granted(with("jssafe", 1, 0, 100_000, 500))
		r.next(1)
		r.passes(60_001)
		r.next(2)
		r.granted(with("jssafe", 2, 0, 100_000, 60_001))
		r.next(63)
		r.passes(499)
		r.next(1)
		r.passes(2)
		r.next(1)
	}},
	{"the grid's time stands still", "G3", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		for i := range 12 {
			r.passes(1000)
			r.granted(with("default", 2+i, 0, 15_000, 0))
			r.next(2)
		}
		r.passes(4000)
		r.next(1)
	}},
	{"a renewal extends the grant", "G5", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(10_000)
		r.granted(with("default", 2, 0, 25_000, 10_000))
		r.passes(14_999)
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"a reply with an earlier end shortens nothing", "G5", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(4000)
		r.granted(with("default", 2, 0, 12_000, 4000))
		r.passes(10_999)
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"the same reply twice", "G5", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(3)
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(3)
	}},
	{"another node", "G6", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(2)
		r.passes(20_000)
		r.granted(onNode(with("default", 2, 15_000, 35_000, 20_000), 3, true))
		r.next(2)
		r.granted(onNode(with("default", 3, 15_000, 36_000, 20_000), 3, false))
		r.next(2)
	}},
	{"another node while the grant of the former lasts", "G6", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(3750)
		r.granted(onNode(with("default", 2, 100, 18_000, 3750), 3, true))
		r.next(2)
		r.passes(11_249)
		r.next(2)
		r.passes(1)
		r.next(2)
	}},
	{"another node in the millisecond of the last ID", "G6", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(9)
		r.next(2)
		r.refused(Refusal{Code: "detached"})
		r.granted(onNode(with("default", 2, 5, 15_000, 9), 3, true))
		r.next(1)
		r.passes(1)
		r.next(2)
	}},
	{"the former grant ends with the millisecond of the last ID", "G6", func(r *recorder) {
		r.granted(with("default", 1, 0, 10, 0))
		r.passes(9)
		r.next(2)
		r.granted(onNode(with("default", 2, 5, 15_000, 9), 3, true))
		r.next(1)
		r.passes(1)
		r.next(2)
	}},
	{"two nodes after each other, and the first one again", "G6", func(r *recorder) {
		r.granted(with("default", 1, 0, 1000, 0))
		r.granted(onNode(with("default", 2, 0, 2000, 0), 3, true))
		r.granted(onNode(with("default", 3, 1500, 3000, 0), 17, true))
		for range 6 {
			r.next(1)
			r.passes(500)
		}
		r.next(1)
	}},
	{"a gap belongs to others", "G7", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(12_000)
		r.granted(with("default", 2, 17_000, 27_000, 12_000))
		r.next(1)
		r.passes(2999)
		r.next(1)
		r.passes(1)
		r.next(1)
		r.passes(1999)
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"a gap after a pause", "G7", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(1)
		r.passes(60_000)
		r.next(1)
		r.granted(with("default", 2, 58_000, 75_000, 60_000))
		r.next(1)
	}},
	{"two gaps", "G7", func(r *recorder) {
		r.granted(with("default", 1, 0, 1000, 0))
		r.granted(with("default", 2, 2000, 3000, 0))
		r.granted(with("default", 3, 4000, 5000, 0))
		for range 11 {
			r.next(1)
			r.passes(500)
		}
	}},
	{"a grant that begins where the former ends", "G7", func(r *recorder) {
		r.granted(with("default", 1, 0, 1000, 0))
		r.granted(with("default", 2, 1000, 2000, 0))
		r.passes(999)
		r.next(2)
		r.passes(1)
		r.next(2)
	}},
	{"when to send requests", "G8", func(r *recorder) {
		r.due(0)
		r.granted(with("default", 1, 0, 15_000, 0))
		r.due(0)
		r.passes(4000)
		r.granted(with("default", 2, 0, 19_000, 4000))
		r.due(0)
	}},
	{"pauses after failures", "G8", func(r *recorder) {
		for pause := int64(300); ; pause = min(2*pause, 3000) {
			r.refused(Refusal{})
			r.due(pause / 2)
			if r.passes(pause); r.at > 20_000 {
				break
			}
		}
		r.granted(with("default", 1, 20_000, 35_000, 20_000))
		r.due(0)
		r.passes(3750)
		r.refused(Refusal{Code: "unavailable"})
		r.due(150)
		r.next(1)
	}},
	{"a time to try again", "G8", func(r *recorder) {
		r.refused(Refusal{Code: "overloaded", RetryAfter: 7000})
		r.due(0)
		r.passes(7000)
		r.refused(Refusal{Code: "quota", RetryAfter: 10})
		r.due(300)
	}},
	{"a request without a reply is repeated", "G8", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(3750)
		r.refused(Refusal{})
		r.passes(300)
		r.granted(with("default", 2, 0, 19_000, 4050))
		r.next(1)
	}},
	{"a fork forgets the grant", "G9", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(2)
		r.fork()
		r.next(1)
		r.granted(onNode(with("default", 7, 0, 15_000, 0), 18, false))
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"a fork during a request", "G9", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(3750)
		r.request()
		r.fork()
		r.granted(onNode(with("default", 7, 0, 15_000, 3750), 18, false))
		r.next(1)
	}},
	{"a release has the last timestamp", "G10", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(77)
		r.next(2)
		r.passes(77)
		r.release()
		r.next(1)
	}},
	{"a release without an ID", "G10", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.release()
		r.next(1)
	}},
	{"a release without a grant", "G10", func(r *recorder) { r.release(); r.next(1) }},
	{"a reply after the release", "G10", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.passes(3750)
		r.request()
		r.release()
		r.reply(with("default", 2, 0, 18_000, 3750))
		r.next(1)
	}},
	{"a grant that was released elsewhere", "G10", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(1)
		r.passes(3750)
		r.refused(Refusal{Code: "detached"})
		r.next(1)
		r.passes(300)
		r.granted(onNode(with("default", 9, 0, 19_000, 4050), 18, false))
		r.next(1)
	}},
	{"the sequencer is destroyed", "G12", func(r *recorder) {
		r.granted(with("default", 1, 0, 15_000, 0))
		r.next(1)
		r.passes(3750)
		r.refused(Refusal{Code: "destroyed"})
		r.next(1)
		r.passes(10_000)
		r.next(1)
	}},
}

// everyLayout are scripts that run for each layout, since their IDs show its formula.
var everyLayout = []struct {
	name, rule string
	run        func(r *recorder, layout string)
}{
	{"first IDs", "G1", func(r *recorder, layout string) {
		r.granted(with(layout, 1, 0, 15_000, 0))
		r.next(3)
		r.passes(1)
		r.next(3)
	}},
	{"the largest node", "G1", func(r *recorder, layout string) {
		reply := with(layout, 1, 0, 15_000, 0)
		reply.Node = int64(1)<<(reply.TimeShift-reply.NodeShift) - 1
		r.granted(reply)
		r.next(2)
	}},
	{"node 0", "G1", func(r *recorder, layout string) {
		r.granted(onNode(with(layout, 1, 0, 15_000, 0), 0, false))
		r.next(2)
	}},
	{"the last millisecond of the layout", "G1", func(r *recorder, layout string) {
		reply := with(layout, 1, 0, 15_000, 0)
		reply.From, reply.Until, reply.Now = reply.Ends-2, reply.Ends+5, reply.Ends-2
		r.granted(reply)
		r.next(1)
		r.passes(1)
		r.next(1)
		r.passes(1)
		r.next(1)
	}},
	{"every counter of a millisecond", "G4", func(r *recorder, layout string) {
		r.granted(with(layout, 1, 0, 15_000, 0))
		r.next(1 << 13)
		r.passes(1)
		r.next(2)
	}},
	{"the first millisecond after the epoch", "G1", func(r *recorder, layout string) {
		reply := with(layout, 1, 0, 15_000, 0)
		reply.From, reply.Until, reply.Now = reply.Epoch+1, reply.Epoch+10, reply.Epoch+1
		r.granted(reply)
		r.next(2)
	}},
	{"a used up millisecond at the end of the grant", "G4", func(r *recorder, layout string) {
		r.granted(with(layout, 1, 0, 2, 0))
		r.passes(1)
		r.next(1 << 13)
		r.passes(1)
		r.next(1)
		r.granted(with(layout, 2, 2, 15_000, 2))
		r.next(1)
	}},
	{"a replaced node", "G6", func(r *recorder, layout string) {
		r.granted(with(layout, 1, 0, 1000, 0))
		r.next(1)
		r.passes(1000)
		r.granted(onNode(with(layout, 2, 500, 15_000, 1000), 1, true))
		r.next(2)
	}},
	{"a gap", "G7", func(r *recorder, layout string) {
		r.granted(with(layout, 1, 0, 1000, 0))
		r.passes(900)
		r.granted(with(layout, 2, 2000, 16_000, 900))
		r.next(1)
		r.passes(100)
		r.next(1)
		r.passes(1000)
		r.next(2)
	}},
}

// record runs all scripts.
func record(t *testing.T) (out conformance) {
	out.About = "Cases for generators of grants over HTTP: docs/grants.md has the rules and how to read a case. Written " +
		"by make conformance."
	run := func(name, rule string, f func(*recorder)) {
		r := &recorder{t: t, g: New(func(int64) int64 { return 0 }), at: 1000}
		f(r)
		out.Cases = append(out.Cases, testCase{name, rule, r.steps})
	}
	for _, c := range cases {
		run(c.name, c.rule, c.run)
	}
	for _, layout := range []string{"default", "twitter", "jssafe"} {
		for _, c := range everyLayout {
			run(c.name+", "+layout, c.rule, func(r *recorder) { c.run(r, layout) })
		}
	}
	out.Requests, out.Releases = requests(), releases()
	describe(t, &out)
	return out
}

// TestConformance: the generator does what the file says, which clients in other languages run.
func TestConformance(t *testing.T) {
	out := record(t)
	if len(out.Cases) < 65 || len(out.Requests) < 12 || len(out.Releases) < 4 {
		t.Errorf("%d cases, %d requests, %d releases, want 65, 12, 4", len(out.Cases), len(out.Requests), len(out.Releases))
	}
	text := []byte("{\n \"about\": " + strconv.Quote(out.About))
	text = appendList(t, text, "cases", out.Cases)
	text = appendList(t, text, "requests", out.Requests)
	text = appendList(t, text, "releases", out.Releases)
	text = appendList(t, text, "parts", out.Parts)
	text = append(appendList(t, text, "ranges", out.Ranges), "\n}\n"...)
	if !json.Valid(text) {
		t.Fatal("the file is not JSON")
	}
	if *update {
		if err := os.WriteFile(conformanceFile, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(conformanceFile)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(have, text) {
		return
	}
	was, is := bytes.Split(have, []byte("\n")), bytes.Split(text, []byte("\n"))
	for i := range min(len(was), len(is)) {
		if !bytes.Equal(was[i], is[i]) {
			t.Fatalf("clients/conformance.json differs; if the change is meant, run make conformance:\n%s\n%s", was[i], is[i])
		}
	}
	t.Fatal("clients/conformance.json has other cases; if the change is meant, run make conformance")
}

// appendList appends a field with a list, an element on each line.
func appendList[T any](t *testing.T, text []byte, name string, list []T) []byte {
	text = append(text, ",\n "+strconv.Quote(name)+": ["...)
	for i, one := range list {
		line, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(text, "\n  "...), line...)
	}
	return append(text, "\n ]"...)
}

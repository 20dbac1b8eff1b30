package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits of a body. They keep the largest body below the 64 KiB that a store accepts.
const (
	KnownMax = 2000 // entries of Record.Known
	TaskMax  = 256  // bytes of Record.Task
	textMax  = 128  // bytes of a nonce or generation
	bodyMax  = 64 << 10

	versionMax = 1<<63 - 1
)

// Metadata keys that repeat parts of a record's body.
const (
	MetaTask       = "taskid"
	MetaVersion    = "version"
	MetaAcquirable = "acquirable"
)

// body is a record as JSON. The keys outside grant are the keys of Zeebe's node ID provider.
type body struct {
	Task      string                      `json:"taskId"`
	Version   uint64                      `json:"version"`
	Timestamp clustertime.Tick            `json:"timestamp"`
	Known     map[sequencer.NodeID]uint64 `json:"knownNodesMapping"`
	Grant     *grantBody                  `json:"grant"`
}

type grantBody struct {
	State      State            `json:"state"`
	Attachment attachment.ID    `json:"attachment"`
	Life       attachment.Life  `json:"life"`
	From       clustertime.Tick `json:"from"`
	Until      clustertime.Tick `json:"until"`
	Bound      clustertime.Tick `json:"bound"`
	LastUsed   clustertime.Tick `json:"lastUsed"`
	Graceful   bool             `json:"graceful"`
	Nonce      string           `json:"nonce"`
	Generation string           `json:"generation"`
}

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return marshalName(s, stateNames[:], "a record") }

// UnmarshalText reads a state's name.
func (s *State) UnmarshalText(text []byte) error { return unmarshalName(s, stateNames[:], text) }

func marshalName[S ~uint8](s S, names []string, of string) ([]byte, error) {
	if int(s) >= len(names) {
		return nil, fmt.Errorf("record: %v is not a state of %s", s, of)
	}
	return []byte(names[s]), nil
}

func unmarshalName[S ~uint8](s *S, names []string, text []byte) error {
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("record: state %.20q is unknown: give one of %s", text, strings.Join(names, ", "))
	}
	*s = S(i)
	return nil
}

// encode returns a body as JSON. It panics with the fault that its decoder would report.
func encode(kind string, body any, fault error) []byte {
	text, err := json.Marshal(body)
	if err = cmp.Or(err, fault); err != nil {
		panic("record: " + kind + " without a body: " + err.Error())
	}
	return text
}

// Encode returns the record's body: JSON with the keys in a fixed order, never empty. Equal records
// have equal bodies. It panics if Decode would reject the record, which no rule in this package
// computes from valid arguments.
func (r Record) Encode() []byte {
	known := r.Known
	if known == nil {
		known = map[sequencer.NodeID]uint64{}
	}
	return encode("a record", body{r.Task, r.Version, r.Timestamp, known, &grantBody{
		r.State, r.Attachment, r.Life, r.From, r.Until, r.Bound, r.LastUsed, r.Graceful, r.Nonce, r.Generation,
	}}, r.check())
}

// Meta returns the parts of the body that its metadata repeats.
func (r Record) Meta() map[string]string {
	return map[string]string{
		MetaTask:       r.Task,
		MetaVersion:    strconv.FormatUint(r.Version, 10),
		MetaAcquirable: strconv.FormatBool(r.State != Retired),
	}
}

// Decode decodes a body and its metadata; each metadata key is optional. An empty body is a free
// record that another program released, with the version in the metadata.
//
// Errors: ErrDamaged if the body is not a record, or body and metadata disagree.
func Decode(text []byte, meta map[string]string) (Record, error) {
	if len(text) == 0 {
		return decodeEmpty(meta)
	}
	var b body
	if err := decodeStrictly(text, &b); err != nil {
		return Record{}, failure.Errorf(ErrDamaged, "record: body %s: %w", excerpt(text), err)
	}
	if b.Grant == nil {
		return Record{}, failure.Errorf(ErrDamaged, "record: body %s has no grant: it was written by another program",
			excerpt(text))
	}
	g := b.Grant
	r := Record{
		State: g.State, Task: b.Task, Version: b.Version, Timestamp: b.Timestamp, Known: b.Known,
		Attachment: g.Attachment, Life: g.Life, From: g.From, Until: g.Until, Bound: g.Bound,
		LastUsed: g.LastUsed, Graceful: g.Graceful, Nonce: g.Nonce, Generation: g.Generation,
	}
	if len(r.Known) == 0 {
		r.Known = nil
	}
	if err := r.check(); err != nil {
		return Record{}, failure.Errorf(ErrDamaged, "record: body %s: %w", excerpt(text), err)
	}
	return r, r.agrees(meta)
}

func decodeEmpty(meta map[string]string) (Record, error) {
	r := Record{State: Free, Graceful: true}
	text, there := meta[MetaVersion]
	if !there {
		return r, nil
	}
	var err error
	if r.Version, err = strconv.ParseUint(text, 10, 63); err != nil {
		return Record{}, failure.Errorf(ErrDamaged,
			"record: the body is empty, and the metadata has version %.30q: give a number, or repair the record", text)
	}
	return r, nil
}

// agrees returns an error if the metadata contradicts the body (Z20).
func (r Record) agrees(meta map[string]string) error {
	want := r.Meta()
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have, there := meta[key]; there && have != want[key] {
			return failure.Errorf(ErrDamaged,
				"record: the body has %s %.40q, and its metadata has %.40q; another program changed one of the two: repair the "+
					"record", key, want[key], have)
		}
	}
	return nil
}

// CheckGeneration returns an error if no record can name a server by this text.
func CheckGeneration(id string) error {
	if id == "" || len(id) > textMax || !utf8.ValidString(id) {
		return fmt.Errorf("record: the server's name %.40q has %d bytes; give 1 to %d of UTF-8", id, len(id), textMax)
	}
	return nil
}

// check returns an error if the rules cannot produce the record.
func (r Record) check() error {
	for _, t := range []clustertime.Tick{r.Timestamp, r.From, r.Until, r.Bound, r.LastUsed} {
		if t < 0 || t > clustertime.Latest {
			return fmt.Errorf("time %d is outside 0 to %d", t, clustertime.Latest)
		}
	}
	holds := !r.Attachment.IsZero()
	switch {
	case r.Nonce == "" || len(r.Nonce) > textMax || len(r.Generation) > textMax:
		return fmt.Errorf("nonce and generation have %d and %d bytes: give 1 to %d, and at most as many", len(r.Nonce),
			len(r.Generation), textMax)
	case len(r.Task) > TaskMax || !utf8.ValidString(r.Task+r.Nonce+r.Generation):
		return fmt.Errorf("task, nonce or generation is not UTF-8, or the task is longer than %d bytes", TaskMax)
	case len(r.Known) > KnownMax:
		return fmt.Errorf("it has %d known versions, more than %d", len(r.Known), KnownMax)
	case r.Version > versionMax:
		return fmt.Errorf("version %d is out of range", r.Version)
	case r.Life.IsZero():
		return fmt.Errorf("it has no life")
	case holds != (r.State == Held):
		return fmt.Errorf("it is %v and has attachment %v", r.State, r.Attachment)
	case r.State != Held && (r.From != 0 || r.Until != 0 || r.Timestamp != 0):
		return fmt.Errorf("it is %v and has a grant", r.State)
	case r.From > r.Until || r.Until > r.Bound:
		return fmt.Errorf("its grant from %d until %d does not lie below its bound %d", r.From, r.Until, r.Bound)
	}
	return nil
}

// decodeStrictly reads one JSON value without unknown keys and nothing after it.
func decodeStrictly(text []byte, into any) error {
	if len(text) > bodyMax {
		return fmt.Errorf("it has %d bytes, more than %d", len(text), bodyMax)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more follows the JSON value")
	}
	return nil
}

// excerpt returns the start of a body for messages.
func excerpt(text []byte) string { return fmt.Sprintf("%.60q", text) }

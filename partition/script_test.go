package partition

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/script"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestTableScripts runs the scripts under testdata.
func TestTableScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		return newStage().do
	})
}

// stage is the state of a script.
type stage struct {
	table  *Table
	bounds Bounds
	birth  attachment.Revision
	lives  map[string]attachment.Ref // by name and number, such as orders.2
}

func newStage() *stage {
	return &stage{table: NewTable(), birth: attachment.Revision{Term: 1}, lives: map[string]attachment.Ref{}}
}

// verbs of the scripts. A life is written orders.1: the name, and which of its
// lives. An attachment is a word, its ID the word's letters.
var verbs = map[string]func(*stage, []string) string{
	"now":     func(s *stage, a []string) string { s.bounds.Now = clustertime.Tick(script.Number(a[0])); return "" },
	"ceiling": func(s *stage, a []string) string { s.bounds.Ceiling = clustertime.Tick(script.Number(a[0])); return "" },
	"life":    (*stage).life,
	"create":  (*stage).create,
	"open":    (*stage).open,
	"attach":  (*stage).attach,
	"crowd":   (*stage).crowd,
	"renew":   (*stage).renew,
	"known":   (*stage).known,
	"detach":  (*stage).detach,
	"expire":  (*stage).expire,
	"destroy": (*stage).destroy,
	"fold":    (*stage).fold,
	"owner":   (*stage).owner,
	"lost":    (*stage).lost,
	"copy":    (*stage).copy,
	"show":    func(s *stage, _ []string) string { return s.show() },
}

// do runs a verb, and sees to it that a refusal leaves the table as it was.
func (s *stage) do(words []string) string {
	verb, found := verbs[words[0]]
	if !found {
		return "unknown verb " + words[0] + "\n"
	}
	before := s.table.Snapshot()
	out := verb(s, words[1:])
	if strings.HasPrefix(out, "refused") && !reflect.DeepEqual(before, s.table.Snapshot()) {
		return "BROKEN: changed, though " + out
	}
	return out
}

var sentinels = map[string]error{
	"ErrConflict": sequencer.ErrConflict, "ErrDestroyed": sequencer.ErrDestroyed, "ErrDetached": sequencer.ErrDetached,
	"ErrInvalidConfig": sequencer.ErrInvalidConfig, "ErrBadClaim": failure.ErrBadClaim,
	"ErrNoFreeNode": sequencer.ErrNoFreeNode, "ErrNotFound": sequencer.ErrNotFound,
}

// refused names the sentinels that a refusal matches.
func refused(err error) string {
	var names []string
	for name, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return fmt.Sprintf("refused: %s\n", strings.Join(names, " "))
}

// life LIFE TERM.NUMBER [nodes=N] [epoch=MS] [as=LIFE] writes down a life that
// the table need not know; as=LIFE gives it the identity of another one, and so a
// second definition.
func (s *stage) life(a []string) string {
	term, num, _ := strings.Cut(a[1], ".")
	ref := s.define(a[0], a[2:])
	ref.Born = attachment.Revision{Term: uint64(script.Number(term)), Number: uint64(script.Number(num))}
	s.lives[a[0]] = ref
	return ""
}

// define returns a life with the given definition, 128 nodes from epoch 0.
func (s *stage) define(life string, options []string) attachment.Ref {
	name, _, _ := strings.Cut(life, ".")
	cfg := sequencer.Config{Nodes: 128, Epoch: epoch.UnixMilli(0)}
	ref := attachment.Ref{Life: attachment.Life(identity(life))}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "nodes":
			cfg.Nodes = int(script.Number(value))
		case "epoch":
			cfg.Epoch = epoch.UnixMilli(script.Number(value))
		case "layout":
			layout, err := sequencer.ParseLayout(value)
			if err != nil {
				panic(err)
			}
			cfg.Layout = layout
		case "as":
			ref.Life = s.lives[value].Life
		}
	}
	def, err := sequencer.Define(name, cfg)
	if err != nil {
		panic(err)
	}
	ref.Definition = def
	return ref
}

// create LIFE [nodes=N] [epoch=MS]
func (s *stage) create(a []string) string {
	ref := s.define(a[0], a[1:])
	ref.Born = attachment.Revision{Term: s.birth.Term, Number: s.birth.Number + 1}
	got, changed, err := s.table.Create(ref, s.bounds.Now)
	if err != nil {
		return refused(err)
	}
	if !changed {
		return "there is " + lifeName(got) + "\n"
	}
	s.birth = ref.Born
	s.lives[a[0]] = got
	return "created " + lifeName(got) + "\n"
}

func (s *stage) open(a []string) string {
	ref, err := s.table.Open(a[0])
	if err != nil {
		return refused(err)
	}
	return lifeName(ref) + "\n"
}

// claim reads LIFE ID [NODE] [forgotten] [before] [shown=MS].
func (s *stage) claim(a []string) Claim {
	ref, found := s.lives[a[0]]
	if !found {
		panic("no life " + a[0])
	}
	c := Claim{Ref: ref, Preference: attachment.Preference{Any: true}}
	for i, word := range a[1:] {
		switch {
		case strings.HasPrefix(word, "shown="):
			c.Shown = clustertime.Tick(script.Number(strings.TrimPrefix(word, "shown=")))
		case word == "before":
			c.Before = true
		case word == "forgotten":
			c.Forgotten = true
		case i == 0 && word != "-":
			c.ID = attachmentID(word)
		case i == 1:
			c.Preference = attachment.Preference{Node: sequencer.NodeID(script.Number(word))}
		}
	}
	return c
}

// attach LIFE ID [NODE] [forgotten] [before] [shown=MS]; a node is the preferred one.
func (s *stage) attach(a []string) string { return answered(s.table.Attach(s.claim(a), s.bounds)) }

// renew LIFE ID NODE [forgotten] [before] [shown=MS]
func (s *stage) renew(a []string) string { return answered(s.table.Renew(s.claim(a), s.bounds)) }

// answered prints an attachment: "same" if nothing but its until can have changed.
func answered(a attachment.Attachment, changed bool, err error) string {
	if err != nil {
		return refused(err)
	}
	out := fmt.Sprintf("%s node %d [%d, %d)", letters(a.ID), a.Node, a.Grant.From, a.Grant.Until)
	if !changed {
		out += " same"
	}
	return out + "\n"
}

// crowd LIFE COUNT attaches as many, without preference.
func (s *stage) crowd(a []string) string {
	nodes := map[sequencer.NodeID]bool{}
	for i := range script.Number(a[1]) {
		got, _, err := s.table.Attach(s.claim([]string{a[0], fmt.Sprintf("crowd%d", i)}), s.bounds)
		if err != nil {
			return fmt.Sprintf("after %d: %v\n", i, err)
		}
		nodes[got.Node] = true
	}
	return fmt.Sprintf("%d nodes\n", len(nodes))
}

// known LIFE [forgotten] [before] [shown=MS]
func (s *stage) known(a []string) string {
	changed, err := s.table.Known(s.claim(append([]string{a[0], "-", "0"}, a[1:]...)))
	if err != nil {
		return refused(err)
	}
	return done(changed)
}

func done(changed bool) string {
	if changed {
		return "done\n"
	}
	return "nothing to do\n"
}

// detach LIFE ID NODE LASTUSED
func (s *stage) detach(a []string) string {
	rel := attachment.Release{ID: attachmentID(a[1]), Node: sequencer.NodeID(script.Number(a[2])),
		LastUsed: clustertime.Tick(script.Number(a[3]))}
	return done(s.table.Detach(s.lives[a[0]], rel))
}

// expire NAME NODE ID
func (s *stage) expire(a []string) string {
	return done(s.table.Expire(a[0], sequencer.NodeID(script.Number(a[1])), attachmentID(a[2]), 0))
}

func (s *stage) destroy(a []string) string {
	if err := s.table.Destroy(s.lives[a[0]]); err != nil {
		return refused(err)
	}
	return ""
}

func (s *stage) fold([]string) string { return done(s.table.Fold(s.bounds.Now, 0)) }

// owner FLOOR
func (s *stage) owner(a []string) string {
	return s.becomeOwner(clustertime.Tick(script.Number(a[0])), false)
}

// lost owner FLOOR
func (s *stage) lost(a []string) string {
	return s.becomeOwner(clustertime.Tick(script.Number(a[1])), true)
}

func (s *stage) becomeOwner(floor clustertime.Tick, lost bool) string {
	s.table.BecomeOwner(floor, lost, true)
	s.birth = attachment.Revision{Term: s.birth.Term + 1}
	return ""
}

// copy continues with a table restored from a snapshot.
func (s *stage) copy([]string) string {
	restored := NewTable()
	restored.Restore(s.table.Snapshot())
	s.table = restored
	return ""
}

func (s *stage) show() string {
	state := s.table.Snapshot()
	var b strings.Builder
	fmt.Fprintf(&b, "base %d\n", state.Base)
	for _, r := range state.Records {
		if r.Destroyed {
			fmt.Fprintf(&b, "%s destroyed, mark %d\n", lifeName(r.Ref), r.Mark)
			continue
		}
		adopted := ""
		if r.Adopted {
			adopted = " adopted"
		}
		fmt.Fprintf(&b, "%s born %d.%d free %d%s\n", lifeName(r.Ref), r.Ref.Born.Term, r.Ref.Born.Number, r.Free, adopted)
		for _, slot := range r.Slots {
			if slot.ID.IsZero() {
				fmt.Fprintf(&b, "  %d: free %d\n", slot.Node, slot.Free)
				continue
			}
			fmt.Fprintf(&b, "  %d: %s from %d free %d\n", slot.Node, letters(slot.ID), slot.From, slot.Free)
		}
	}
	return b.String()
}

// identity spells a word in 16 bytes; letters reads it.
func identity(word string) (out [16]byte) {
	if copy(out[:], word) < len(word) {
		panic("too long: " + word)
	}
	return out
}

func attachmentID(word string) attachment.ID { return attachment.ID(identity(word)) }

func letters[T ~[16]byte](v T) string {
	b := [16]byte(v)
	return string(bytes.TrimRight(b[:], "\x00"))
}

func lifeName(r attachment.Ref) string { return letters(r.Life) }

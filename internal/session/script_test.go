package session

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/script"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestScripts runs the scripts under testdata.
func TestScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		s := newStage()
		return func(words []string) string { return verbs[words[0]](s, words[1:]) + s.effects() }
	})
}

// verbs of the scripts. The handle orders/2 is on life 2 of a name; orders is on life 1.
var verbs = map[string]func(*stage, []string) string{
	"at":        (*stage).at,
	"look":      (*stage).look,
	"directory": (*stage).adopt,
	"lookedup":  func(s *stage, _ []string) string { s.m.LookedUp(); return "" },
	"skew":      func(s *stage, a []string) string { s.skew = clustertime.Span(script.Number(a[0])); return "" },
	"open":      func(s *stage, a []string) string { return s.add(a[0], false, false) },
	"create":    func(s *stage, a []string) string { return s.add(a[0], true, false) },
	"stripe":    func(s *stage, a []string) string { return s.add(a[0], true, true) },
	"attach":    (*stage).attachNode,
	"detach":    (*stage).detachNode,
	"idle": func(s *stage, a []string) string {
		s.handles[a[0]].Control.Handle().DetachWhenIdle(script.Duration(a[1]))
		return ""
	},
	"detached": func(s *stage, a []string) string { s.m.Detached(s.handles[a[0]]); return "" },
	"forget":   func(s *stage, a []string) string { s.m.Remove(s.handles[a[0]]); return "" },
	"ended": func(s *stage, a []string) string {
		s.m.Ended(a[0], attachment.Life{byte(script.Number(a[1]))})
		return ""
	},
	"answer":   (*stage).answered,
	"fail":     (*stage).fail,
	"replaced": (*stage).replaced,
	"stands":   func(s *stage, a []string) string { s.m.Stands(s.now(), s.stream(a[0])); return "" },
	"broken":   func(s *stage, a []string) string { s.m.Broken(s.now(), s.stream(a[0])); return "" },
	"states":   (*stage).states,
}

// at sets the time.
func (s *stage) at(a []string) string {
	s.mono = script.Duration(a[0])
	return ""
}

func (s *stage) look([]string) string {
	next, due := s.m.Look(s.now())
	if !due {
		return "nothing is due\n"
	}
	return fmt.Sprintf("next look at %v\n", next)
}

// adopt takes in a directory: its version, and the owners of its partitions, "-" for none.
func (s *stage) adopt(a []string) string {
	d := s.directory(uint64(script.Number(a[0])), a[1:]...)
	for i, owner := range d.Owners {
		d.Owners[i] = strings.TrimPrefix(owner, "-")
	}
	if s.skew != 0 {
		d.Grid = roster.GridID{2}
	}
	if !s.m.Adopt(s.now(), d, s.mono, s.tick()) {
		return "older than the one there is\n"
	}
	return ""
}

func (s *stage) add(label string, attaches, stripe bool) string {
	name, rest, _ := strings.Cut(label, "/")
	life, _ := strconv.Atoi(cmp.Or(rest, "1"))
	s.handles[label] = s.make(name, byte(life), attaches, stripe)
	s.names = append(s.names, label)
	return ""
}

// label returns the name of a handle in a script.
func (s *stage) label(h *Handle) string {
	for _, name := range s.names {
		if s.handles[name] == h {
			return name
		}
	}
	return "?"
}

func (s *stage) attachNode(a []string) string {
	s.attached(s.handles[a[0]], sequencer.NodeID(script.Number(a[1])))
	return ""
}

func (s *stage) detachNode(a []string) string {
	h := s.handles[a[0]]
	held, _ := h.Control.Held()
	if err := h.Control.Handle().DetachLogicalNode(context.Background()); err != nil {
		return err.Error() + "\n"
	}
	s.m.Return(s.now(), h.Control.Ref(), attachment.Release{ID: held.ID, Node: held.Node})
	return ""
}

// answered answers the oldest renewal: for each set "known" or "unknown", for each claim
// "ok" or an error, with "paced" from a member that has too much to do. "stale" before them is an answer by roster
// version 4, "newer" by 9.
func (s *stage) answered(a []string) string {
	r := s.renewals[0]
	s.renewals = s.renewals[1:]
	version := uint64(5)
	var out Renewed
	grant := s.grant()
	for _, word := range a {
		switch word {
		case "stale":
			version = 4
		case "newer":
			version = 9
		case "short":
			grant.Until = s.tick() + 2_000
		case "paced": // the member wants the next one after eleven hours
			out.Pace = 11 * time.Hour
		case "known":
			out.Sets = append(out.Sets, grant.Until)
		case "unknown":
			out.Sets = append(out.Sets, 0)
		case "ok":
			out.Claims = append(out.Claims, ClaimRenewed{Grant: grant})
		default:
			out.Claims = append(out.Claims, ClaimRenewed{Err: failures[word]})
		}
	}
	out.Stamp = s.stamp(version)
	s.m.Renewed(s.now(), r, out, nil)
	return ""
}

// failures are errors by their names in scripts.
var failures = map[string]error{
	"timeout": context.DeadlineExceeded, "unavailable": sequencer.ErrUnavailable, "wrongowner": roster.ErrWrongOwner,
	"destroyed": sequencer.ErrDestroyed, "conflict": sequencer.ErrConflict, "detached": sequencer.ErrDetached,
	"denied": ErrDenied,
}

// fail ends the oldest renewal with an error.
func (s *stage) fail(a []string) string {
	r := s.renewals[0]
	s.renewals = s.renewals[1:]
	s.m.Renewed(s.now(), r, Renewed{}, failures[a[0]])
	return ""
}

// replaced ends a try to replace a lost logical node: by another node, or "lost".
func (s *stage) replaced(a []string) string {
	h := s.handles[a[0]]
	s.refuses = sequencer.ErrUnavailable
	if a[1] != "lost" {
		s.attach++
		s.answer, s.refuses = attachment.Attachment{
			ID: attachment.ID{s.attach}, Node: sequencer.NodeID(script.Number(a[1])), Grant: s.grant(),
		}, nil
		s.m.Attached(s.now(), h, s.answer, s.stamp(5), s.mono)
	}
	err := h.Control.Replace(context.Background(), h.loss.id)
	s.m.Replaced(s.now(), h, err != nil && h.Control.Lost(h.loss.id))
	return ""
}

func (s *stage) stream(owner string) *Stream {
	for _, have := range s.m.streams {
		if have.Owner == owner {
			return have
		}
	}
	panic("no stream to " + owner)
}

// states prints the handles.
func (s *stage) states([]string) string {
	var out strings.Builder
	for _, name := range s.names {
		h := s.handles[name].Control
		held, has := h.Held()
		fmt.Fprintf(&out, "%s is %v", name, h.Handle().State())
		if has {
			fmt.Fprintf(&out, " to node %d until %d", held.Node, held.Grant.Until-start)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// effects does the machine's effects as far as a script can, and prints them.
func (s *stage) effects() string {
	var out strings.Builder
	say := func(format string, a ...any) { fmt.Fprintf(&out, "  "+format+"\n", a...) }
	for e := s.m.Take(); !e.Empty(); e = s.m.Take() {
		if e.Forget {
			say("forget the cluster time")
			s.known = false
		}
		if e.Time > 0 {
			s.known = true
		}
		for _, x := range e.Extend {
			say("extend %s until %d", s.label(x.Handle), x.Grant.Until-start)
			x.Handle.Control.Renewed(x.ID, x.Grant)
		}
		for _, x := range e.Refuse {
			say("refuse %s: %v", s.label(x.Handle), x.Err)
			x.Handle.Control.Refuse(x.ID, x.Err)
		}
		for _, l := range e.Lapse {
			say("lapse %s", s.label(l.Handle))
			l.Handle.Control.Lapse(l.ID)
		}
		for _, h := range e.End {
			say("end %s", s.label(h))
			if rel, held := h.Control.Destroy(); held {
				s.m.Return(s.now(), h.Control.Ref(), rel)
			}
		}
		s.calls(e, say)
	}
	return out.String()
}

// calls prints the calls among effects, and keeps those that scripts answer.
func (s *stage) calls(e Effects, say func(string, ...any)) {
	for _, h := range e.Detach {
		say("detach %s, which is idle", s.label(h))
	}
	for _, l := range e.Replace {
		say("replace %s, try %d, within %v", s.label(l.Handle), l.Try, l.Within)
	}
	for _, r := range e.Renew {
		s.renewals = append(s.renewals, r)
		text := ""
		for _, set := range r.Sets {
			text += fmt.Sprintf(" partition %d with %d", set.Partition, set.Count)
		}
		for i := range r.Claims {
			text += " " + s.label(r.handles[i])
		}
		say("renew at %s:%s", r.Owner, text)
	}
	for _, stream := range e.Close {
		say("close the stream to %s", stream.Owner)
	}
	for _, stream := range e.Open {
		say("open a stream to %s", stream.Owner)
	}
	for _, back := range e.Return {
		say("give back node %d of %s before %v", back.Release.Node, back.Ref.Definition.Name(), back.End)
	}
	if e.LookUp {
		say("look up the directory unless it was since %v", e.Since)
	}
}

package gridtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// auditLine is a line of the audit log, and the member that wrote it.
type auditLine struct {
	Msg, Host, Action, Name, Who, Result, Error string
}

// auditLog collects the audit lines of all members.
type auditLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *auditLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// of returns the lines of an action.
func (l *auditLog) of(t *testing.T, action string) (out []auditLine) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.text.Bytes()) {
		var fields auditLine
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields.Msg == "audit" && fields.Action == action {
			out = append(out, fields)
		}
	}
	return out
}

// TestEveryActionIsAudited: each action that changes the grid is one line on the member
// that decides, with the caller; one that is refused too; one that changes nothing has none.
func TestEveryActionIsAudited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &auditLog{}
		g := gridtest.Start(t, gridtest.Config{Members: 3, Logger: slog.New(slog.NewJSONHandler(log, nil))})
		web, ctx := g.Client("web"), t.Context()
		if _, err := web.CreateSequencer(ctx, "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Client("web2").CreateSequencer(ctx, "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		if _, err := g.Client("web3").CreateSequencer(ctx, "orders", sequencer.Config{Nodes: 128}); !errors.Is(err,
			sequencer.ErrConflict) {
			t.Fatal(err)
		}
		owner := g.OwnerOf("orders")
		log.want(t, "create", auditLine{Host: owner, Name: "orders", Who: "10.0.0.", Result: "ok"},
			auditLine{Host: owner, Name: "orders", Who: "10.0.0.", Result: "denied", Error: "conflicting definition"})
		if err := web.DestroySequencer(ctx, "orders"); err != nil {
			t.Fatal(err)
		}
		ops := calls.NewPool(g.Network.Host("ops").Dial, g.Load(security.Admin))
		defer ops.Close()
		if err := ops.Call(ctx, owner+":7948", wire.PathDestroy, wire.DestroyRequest{Name: "orders"},
			&wire.Done{}); !errors.Is(err, sequencer.ErrNotFound) {
			t.Fatal(err)
		}
		log.want(t, "destroy", auditLine{Host: owner, Name: "orders", Who: "10.0.0.", Result: "ok"},
			auditLine{Host: owner, Name: "orders", Who: "10.0.0.", Result: "denied", Error: "not found"})

		leader := g.Leader()
		others := slices.DeleteFunc(g.Running(), func(name string) bool { return name == leader })
		post := func(member, path string, in, out any) error {
			self := g.Member(member).Status().Answering
			return ops.CallWith(ctx, member+":7948", frame.Head{Path: path, Target: self}, in, out)
		}
		// An operator asks another member than the leader, which decides.
		disk, _, _ := strings.Cut(g.Member(others[0]).Status().Answering, "-")
		if err := post(others[0], wire.PathForget, wire.ForgetRequest{Member: roster.MemberID(disk)},
			&wire.ForgetResponse{}); err == nil {
			t.Error("the disk of a member that runs was forgotten")
		}
		log.want(t, "forget", auditLine{Host: leader, Name: disk, Who: "10.0.0.", Result: "denied"})
		if err := post(others[0], wire.PathTake, wire.TakeRequest{}, &wire.MemberResponse{}); err == nil {
			t.Error("a grid without an anchor has taken it")
		}
		log.want(t, "take-anchor", auditLine{Host: leader, Name: "snowgrid", Who: "10.0.0.", Result: "denied"})
		if err := post(others[0], wire.PathInit, wire.InitRequest{}, &wire.InitResponse{}); err == nil {
			t.Error("a grid that is well was recovered")
		}
		log.want(t, "init", auditLine{Host: others[0], Name: others[0] + " (" + g.Member(others[0]).Status().Answering,
			Who: "10.0.0.", Result: "denied"})

		g.StartMembers("m4")
		if joined := log.of(t, "join"); !slices.ContainsFunc(joined, func(l auditLine) bool {
			return strings.HasPrefix(l.Name, "m4 (") && strings.HasSuffix(l.Who, ":7948") && l.Result == "ok" && l.Host == leader
		}) {
			t.Errorf("joined: %+v", joined)
		}
		g.Leave("m4")
		log.want(t, "leave", auditLine{Host: leader, Name: "m4 (", Who: "10.0.0.", Result: "ok"})
		if removed := log.of(t, "remove"); len(removed) > 0 {
			t.Errorf("removed: %+v", removed)
		}
		g.Crash(others[1])
		awaitTrue(t, "the crash is noticed", func() bool { return len(log.of(t, "remove")) > 0 })
		log.want(t, "remove", auditLine{Host: leader, Name: others[1] + " (", Who: "leader " + leader + " (", Result: "ok"})
	})
}

// want wants the lines of an action to be these, each field beginning so; Error is a part.
func (l *auditLog) want(t *testing.T, action string, want ...auditLine) {
	t.Helper()
	got := l.of(t, action)
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = got[i].Host == want[i].Host && strings.HasPrefix(got[i].Name, want[i].Name) &&
			strings.HasPrefix(got[i].Who, want[i].Who) &&
			got[i].Result == want[i].Result && (got[i].Error != "") == (want[i].Result != "ok") &&
			strings.Contains(got[i].Error, want[i].Error)
	}
	if !ok {
		t.Errorf("%s: the audit has\n%+v\nwant\n%+v", action, got, want)
	}
}

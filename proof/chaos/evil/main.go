//go:build linux

// Command evil is a process with a holder's certificate, for names that no other process of
// the chaos proof uses. It attacks the members as long as it runs. After SIGTERM it ends: with
// status 0 if each member refused everything, and at least one refused something.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
)

// every is the pause between two attacks.
const every = 50 * time.Millisecond

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "evil:", err)
		os.Exit(1)
	}
}

func run() error {
	addrs := flag.String("addrs", "", "API addresses of the members")
	dir := flag.String("security-dir", "", "directory where certificates are issued")
	victim := flag.String("victim", "load-0", "name of another process")
	flag.Parse()
	a, err := attacker(*dir)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	fmt.Println("attacking")
	apis, refused := strings.Split(*addrs, ","), 0
	for ctx.Err() == nil {
		to, s, err := look(ctx, a, apis[rand.IntN(len(apis))])
		if err == nil {
			err = strike(ctx, a, to, s, *victim)
		}
		switch {
		case errors.Is(err, security.ErrDenied):
			refused++
		case err == nil || !errors.Is(err, evil.ErrUnwelcome): // else a fault of the proof kept it from an answer
			return fmt.Errorf("%s took an attack: %w", to.API, errors.Join(err, errTaken))
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
	}
	if refused == 0 {
		return errors.New("no attack reached a member")
	}
	fmt.Fprintln(os.Stderr, "refused", refused)
	return nil
}

var errTaken = errors.New("it is not denied")

// attacker returns one with a certificate that was issued for it.
func attacker(dir string) (*evil.Attacker, error) {
	by, err := authority.Load(filepath.Join(dir, security.AuthorityFile), filepath.Join(dir, security.AuthorityKeyFile))
	if err != nil {
		return nil, err
	}
	cert, err := evil.Issue(by, time.Now(), authority.Request{Name: "evil", Role: security.Holder,
		Names: []security.Pattern{"evil-*"}})
	if err != nil {
		return nil, err
	}
	return &evil.Attacker{Name: "evil", Role: security.Holder, Refusal: security.ErrDenied, TLS: evil.Trusting(by, cert),
		Dial: calls.TCP}, nil
}

// look asks a member for what an attack needs to know. A holder may.
func look(ctx context.Context, a *evil.Attacker, api string) (evil.Target, grid.Status, error) {
	var s grid.Status
	text, err := a.Do(ctx, api, http.MethodGet, wire.PathStatus, nil, nil)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return evil.Target{}, s, fmt.Errorf("%w: %w", evil.ErrUnwelcome, err) // it does not serve now
	}
	for _, m := range s.Members {
		if m.Incarnation == s.Answering {
			server := s.Answering
			if m.Durable {
				server = m.ID()
			}
			return evil.Target{API: api, Raft: m.Raft, Grid: s.Grid, Member: roster.Incarnation(m.Incarnation),
				Server: server}, s, nil
		}
	}
	return evil.Target{}, s, evil.ErrUnwelcome
}

// strike makes one attack on a member.
func strike(ctx context.Context, a *evil.Attacker, to evil.Target, s grid.Status, victim string) error {
	id := roster.PartitionOf(victim, len(s.Partitions))
	switch rand.IntN(7) {
	case 0:
		return raft(ctx, a, to, s)
	case 1:
		return a.Call(ctx, to, wire.PathReplicate, member.ReplicateRequest{
			Partition: id, Version: roster.Version(s.Version), Pages: 1, Table: &member.Table{},
			Position: backup.Position{Term: roster.Term(s.Partitions[id].Term), Number: 1 << 32},
		})
	case 2:
		return a.Call(ctx, to, wire.PathReplicate, member.ReplicateRequest{
			Partition: id, Version: math.MaxInt64, Position: backup.Position{Term: math.MaxUint64, Number: 1}, Pages: 1,
			Table: &member.Table{},
		})
	case 3:
		return a.Call(ctx, to, wire.PathLeave, wire.LeaveRequest{Incarnation: to.Member, Server: to.Server, Failed: true})
	case 4:
		return a.Call(ctx, to, wire.PathDestroy, wire.DestroyRequest{Name: victim})
	case 5:
		return a.Call(ctx, to, wire.PathIDs, wire.IDsRequest{Name: victim, N: new(1000)})
	default:
		return a.Call(ctx, to, wire.PathInit, wire.InitRequest{Force: true})
	}
}

// raft sends a member messages of Raft in the name of the leader. A stream has no words for a
// refusal, so one that ends without an answer counts as one.
func raft(ctx context.Context, a *evil.Attacker, to evil.Target, s grid.Status) error {
	leader, _, _ := strings.Cut(s.Leader, "-")
	r := a.Raft(ctx, to, leader)
	defer func() { _ = r.Close() }()
	messages := evil.Messages([]byte("x"))
	err := messages[rand.IntN(len(messages))].Send(r, math.MaxUint64)
	if err != nil && !strings.Contains(err.Error(), "term") {
		return security.ErrDenied
	}
	return err
}

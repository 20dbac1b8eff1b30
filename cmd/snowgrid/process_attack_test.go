//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	memberwire "github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
)

// siege is a secured grid of processes under attack by one with a holder's certificate.
type siege struct {
	t      *testing.T
	g      *seats
	dir    string
	evil   *evil.Attacker
	status grid.Status // before
}

// attackGrowth is how much an attack may add to a member's memory.
const attackGrowth = 64 << 20

// TestAttackProcesses: a process whose certificate is a holder's, for names orders-*, does to
// agents what would end their grid. Each request is refused with a line in the audit log; the
// grid's state and the IDs of honest holders stay as they were.
func TestAttackProcesses(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	s := &siege{t: t, dir: secureDir(t)}
	s.g = startSeats(t, 3, "--backups", "1", "--security-dir", s.dir)
	c := &crew{t: t, checker: newChecker()}
	c.ctx, c.stop = context.WithCancel(t.Context())
	t.Cleanup(c.end)
	one, err := client.Dial(c.within(), client.Config{Addrs: s.g.apisBut(),
		Security: &security.Config{Dir: s.dir, Role: security.Holder}})
	if err != nil {
		t.Fatal(err)
	}
	c.clients = append(c.clients, one)
	for n := range 5 {
		c.hire(0, fmt.Sprint("bills-", n))
	}
	s.arm()
	s.status = s.settled()
	calm := s.resident()
	for _, attack := range []struct {
		action security.Action
		strike func() error
	}{
		{security.Raft, s.forgeRaft},
		{security.Replicate, s.forgeTables},
		{security.Leave, s.forgeGoodbyes},
		{security.Join, s.forgeJoin},
		{security.Earlier, s.claimEarlierLife},
		{security.Destroy, s.destroy},
		{security.Attach, s.attachMany},
		{security.Create, s.createMany},
		{security.Settings, s.changeSettings},
	} {
		if err := attack.strike(); err != nil {
			t.Errorf("%s: %v", attack.action, err)
		}
		await(t, fmt.Sprintf("the audit log has a line for %s", attack.action),
			func() bool { return s.audited(attack.action) })
		c.calm("after " + string(attack.action))
	}
	<-time.After(3 * time.Second) // a message that is believed shows itself by then
	now := s.g.securedStatus(s.dir)
	if was, is := stateOf(s.status), stateOf(now); was != is {
		at := 0
		for at < min(len(was), len(is)) && was[at] == is[at] {
			at++
		}
		t.Errorf("before\n%.1000s\nafter\n%.1000s", was[max(0, at-200):], is[max(0, at-200):])
	}
	c.calm("at the end")
	c.end()
	c.unique()
	for i, after := range s.resident() {
		t.Logf("agent %d: %d MB before, %d MB after", i+1, calm[i]>>20, after>>20)
		if after-calm[i] > attackGrowth {
			t.Errorf("agent %d grew by %d MB", i+1, (after-calm[i])>>20)
		}
	}
	t.Log(c.count())
}

// settled waits until every partition has its copies, on the disks that the roster names, and returns the status.
func (s *siege) settled() grid.Status {
	s.t.Helper()
	return awaitStatus(s.t, strings.Join(s.g.apisBut(), ","), func(now grid.Status) string {
		if len(now.Members) < len(s.g.all) || now.Leader == "" {
			return "no leader, or not all members"
		}
		for _, p := range now.Partitions {
			if len(p.InSync) < 2 || len(p.Disks) < 2 || p.Joining != "" {
				return fmt.Sprintf("partition %d is not settled: %+v", p.ID, p)
			}
		}
		return ""
	}, "--security-dir", s.dir)
}

// stateOf returns what no attack may change.
func stateOf(s grid.Status) string {
	var members []string
	for _, m := range s.Members {
		members = append(members, m.Incarnation)
	}
	text, err := json.Marshal([]any{s.Leader, s.Grid, s.Settings, members, s.Partitions})
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// arm makes the attacker, with a certificate of the grid's authority.
func (s *siege) arm() {
	s.t.Helper()
	a, err := authority.Load(s.dir+"/"+security.AuthorityFile, s.dir+"/"+security.AuthorityKeyFile)
	if err != nil {
		s.t.Fatal(err)
	}
	cert, err := evil.Issue(a, time.Now(), authority.Request{Name: "evil", Role: security.Holder,
		Names: []security.Pattern{"orders-*"}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.evil = &evil.Attacker{Name: "evil", Role: security.Holder, Refusal: security.ErrDenied, TLS: evil.Trusting(a, cert),
		Dial: calls.TCP}
}

// targets are the members.
func (s *siege) targets() (all []evil.Target) {
	for _, m := range s.status.Members {
		server := m.Incarnation
		if m.Durable {
			server = m.ID()
		}
		all = append(all, evil.Target{API: m.API, Raft: m.Raft, Grid: s.status.Grid,
			Member: roster.Incarnation(m.Incarnation), Server: server})
	}
	return all
}

// leader is the member that leads.
func (s *siege) leader() evil.Target {
	for _, to := range s.targets() {
		if string(to.Member) == s.status.Leader {
			return to
		}
	}
	s.t.Fatal("no member leads")
	return evil.Target{}
}

// owner is the member that owns a name.
func (s *siege) owner(name string) evil.Target {
	for _, to := range s.targets() {
		if string(to.Member) == s.status.OwnerOf(name) {
			return to
		}
	}
	s.t.Fatal("no member owns the name")
	return evil.Target{}
}

// call makes a call that has to be denied.
func (s *siege) call(to evil.Target, path string, in any) error {
	return s.denied(s.evil.Call(s.t.Context(), to, path, in))
}

// denied returns nil for an answer that denies a call.
func (s *siege) denied(err error) error {
	switch {
	case err == nil:
		return errors.New("it was served")
	case !s.evil.IsRefusal(err):
		return fmt.Errorf("it was not denied: %w", err)
	}
	return nil
}

func (s *siege) forgeRaft() error {
	for _, term := range []uint64{math.MaxUint64, 100} {
		for _, to := range s.targets() {
			for _, m := range evil.Messages([]byte("x")) {
				r := s.evil.Raft(s.t.Context(), to, s.leader().Server)
				err := m.Send(r, term)
				_ = r.Close()
				if err == nil || strings.Contains(err.Error(), "term") || strings.Contains(err.Error(), "server") {
					return fmt.Errorf("%s of term %d came through: %w", m.Name, term, cmp.Or(err, errors.New("it was taken")))
				}
			}
		}
	}
	return nil
}

func (s *siege) forgeTables() error {
	for id, p := range s.status.Partitions[:min(40, len(s.status.Partitions))] {
		for _, term := range []roster.Term{math.MaxUint64, roster.Term(p.Term)} {
			for _, to := range s.targets() {
				if err := s.call(to, wire.PathReplicate, memberwire.ReplicateRequest{
					Partition: roster.PartitionID(id), Version: roster.Version(s.status.Version),
					Position: backup.Position{Term: term, Number: 1 << 32}, Pages: 1, Table: &memberwire.Table{},
				}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *siege) forgeGoodbyes() error {
	for _, m := range s.targets() {
		if err := s.call(s.leader(), wire.PathLeave, wire.LeaveRequest{Incarnation: m.Member, Server: m.Server,
			Failed: true}); err != nil {
			return err
		}
	}
	return nil
}

func (s *siege) forgeJoin() error {
	return s.call(s.leader(), wire.PathJoin, wire.JoinRequest{
		Member: roster.Member{Incarnation: "00000000000000aa-00000000000000bb", API: "127.0.0.1:9", Raft: "127.0.0.1:9",
			Gossip: "127.0.0.1:9"}, Server: "00000000000000aa-00000000000000bb",
	})
}

// earlier is a claim of another life of a name in another grid, of a grant that ends in a day.
func (s *siege) claimEarlierLife() error {
	until := clustertime.TickOf(s.status.ClusterTime.Add(25*time.Hour - 5*time.Second))
	claim := wire.Claim{
		Sequencer: wire.Sequencer{Name: "bills-0", Epoch: epoch.Default.UnixMilli(), Nodes: 8192, Life: attachment.Life{1},
			Born: attachment.Revision{Term: math.MaxUint64}},
		ID: attachment.ID{3}, Grid: roster.GridID{1}, Version: 1, Until: until,
	}
	if err := s.call(s.owner("bills-0"), wire.PathAttach, wire.AttachRequest{Holder: "x", Claim: claim}); err != nil {
		return err
	}
	return s.call(s.leader(), wire.PathEarlier, wire.EarlierRequest{Until: until})
}

func (s *siege) destroy() error {
	return s.call(s.owner("bills-0"), wire.PathDestroy, wire.DestroyRequest{Name: "bills-0"})
}

// many is a number of requests, few without -long.
func many(n int) int { return long.Or(n/16, n) }

func (s *siege) attachMany() error {
	to := s.owner("bills-1")
	for i := range many(8192) {
		claim := wire.Claim{Sequencer: wire.Sequencer{Name: "bills-1", Epoch: epoch.Default.UnixMilli(), Nodes: 8192},
			ID: attachment.ID{byte(i), byte(i >> 8), 1}}
		if err := s.call(to, wire.PathAttach, wire.AttachRequest{Holder: attachment.HolderID(fmt.Sprint("evil-", i)),
			Claim: claim}); err != nil {
			return err
		}
	}
	return nil
}

func (s *siege) createMany() error {
	all := s.targets()
	for i := range many(2048) {
		if err := s.call(all[i%len(all)], wire.PathCreate,
			wire.CreateRequest{Name: fmt.Sprintf("evil-%0200d", i)}); err != nil {
			return err
		}
	}
	return nil
}

func (s *siege) changeSettings() error {
	_, err := s.evil.Do(s.t.Context(), s.leader().API, http.MethodPost, wire.PathSettings,
		http.Header{"Content-Type": {wire.JSON}}, []byte(`{"backups":0}`))
	return s.denied(err)
}

// audited reports whether the log of some agent has a denial of an action to the attacker.
func (s *siege) audited(action security.Action) bool {
	for _, a := range s.g.agents() {
		for line := range strings.Lines(a.stderr.String()) {
			if strings.Contains(line, "msg=audit") && strings.Contains(line, "action="+string(action)+" ") &&
				strings.Contains(line, "result=denied") && strings.Contains(line, "evil") {
				return true
			}
		}
	}
	return false
}

// resident returns the memory of each agent in bytes.
func (s *siege) resident() (all []int) {
	s.t.Helper()
	for _, a := range s.g.agents() {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", a.cmd.Process.Pid))
		fields := strings.Fields(string(text))
		if err != nil || len(fields) < 2 {
			s.t.Fatalf("the memory of %s: %v", a.api, err)
		}
		pages, err := strconv.Atoi(fields[1])
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, pages*os.Getpagesize())
	}
	return all
}

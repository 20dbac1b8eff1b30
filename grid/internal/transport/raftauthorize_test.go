package transport_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// certified is a directory with a certificate of a role, and it at work.
func certified(t *testing.T, a *authority.Authority, role security.Role) (string, *security.Credentials) {
	t.Helper()
	dir := t.TempDir()
	certify(t, dir, a, role)
	creds, err := security.Load(security.Config{Dir: dir, Role: role}, role)
	if err != nil {
		t.Fatal(err)
	}
	return dir, creds
}

// certify writes a certificate of an authority, and trusts that alone.
func certify(t *testing.T, dir string, a *authority.Authority, role security.Role) {
	t.Helper()
	cert, key, err := a.Issue(authority.Request{Name: "x", Role: role}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"ca.crt": a.Certificate(), string(role) + ".crt": cert,
		string(role) + ".key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func newAuthority(t *testing.T) *authority.Authority {
	t.Helper()
	a, err := authority.New("test", time.Now(), authority.AuthorityTTL)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// denials counts the streams that a server has denied.
type denials struct {
	n    atomic.Int32
	last atomic.Pointer[error]
}

func (d *denials) add(_ net.Addr, _ security.Peer, err error) {
	d.n.Add(1)
	d.last.Store(&err)
}

// securedRaft is a server at name:7947.
func securedRaft(t *testing.T, n *gridtest.Network, name string, creds *security.Credentials,
	denied transport.Denied) *raft.NetworkTransport {
	t.Helper()
	ln, err := n.Host(name).Listen(name + ":7947")
	if err != nil {
		t.Fatal(err)
	}
	s := transport.NewRaftStream(ln, n.Host(name), gridID, transport.NoClaims{}, transport.NoReleases{}, name,
		name+":7947", creds, denied)
	r := transport.NewRaft(s, addresses{}, hclog.NewNullLogger())
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// raftRequests send each kind of request to b, by the name of its type.
var raftRequests = map[string]func(*raft.NetworkTransport) error{
	"AppendEntriesRequest": func(r *raft.NetworkTransport) error {
		return r.AppendEntries("b", dialTo("b"), &raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{})
	},
	"RequestVoteRequest": func(r *raft.NetworkTransport) error {
		return r.RequestVote("b", dialTo("b"), &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
	},
	"RequestPreVoteRequest": func(r *raft.NetworkTransport) error {
		return r.RequestPreVote("b", dialTo("b"), &raft.RequestPreVoteRequest{}, &raft.RequestPreVoteResponse{})
	},
	"TimeoutNowRequest": func(r *raft.NetworkTransport) error {
		return r.TimeoutNow("b", dialTo("b"), &raft.TimeoutNowRequest{}, &raft.TimeoutNowResponse{})
	},
	"InstallSnapshotRequest": func(r *raft.NetworkTransport) error {
		return r.InstallSnapshot("b", dialTo("b"), &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{},
			bytes.NewReader(nil))
	},
}

// guardedRequests are the types of requests that the guard lets pass, by its source.
func guardedRequests(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "raftguard.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CaseClause); ok {
			for _, e := range c.List {
				if star, ok := e.(*ast.StarExpr); ok {
					names = append(names, star.X.(*ast.SelectorExpr).Sel.Name)
				}
			}
		}
		return true
	})
	return names
}

// answering serves a transport's requests, and counts them by type.
func answering(r *raft.NetworkTransport, end <-chan struct{}, seen *atomic.Int32) {
	for {
		select {
		case <-end:
			return
		case rpc := <-r.Consumer():
			seen.Add(1)
			if rpc.Reader != nil {
				_, _ = io.Copy(io.Discard, rpc.Reader)
			}
			rpc.Respond(nil, errors.New("seen"))
		}
	}
}

// TestRaftRequestsAreAuthorized: each kind of request that the guard knows reaches Raft from a
// member and from no other role, and no longer from one that was a member when it opened its
// stream.
func TestRaftRequestsAreAuthorized(t *testing.T) {
	known := guardedRequests(t)
	if slices.Sort(known); !slices.Equal(known, slices.Sorted(maps.Keys(raftRequests))) {
		t.Fatalf("the guard lets %q pass, and this test sends %q: give each an action and a row", known,
			slices.Sorted(maps.Keys(raftRequests)))
	}
	for name, send := range raftRequests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, ours := gridtest.NewNetwork(), newAuthority(t)
				dir, own := certified(t, ours, security.Member)
				var seen atomic.Int32
				var denied denials
				server := securedRaft(t, n, "b", own, denied.add)
				end := make(chan struct{})
				defer close(end)
				go answering(server, end, &seen)

				for _, role := range []security.Role{security.Admin, security.Holder, security.Reader} {
					_, creds := certified(t, ours, role)
					if err := send(securedRaft(t, n, string(role), creds, nil)); err == nil || strings.Contains(err.Error(), "seen") {
						t.Errorf("%s: %v", role, err)
					}
				}
				if synctest.Wait(); seen.Load() != 0 || denied.n.Load() != 3 ||
					!errors.Is(*denied.last.Load(), security.ErrDenied) {
					t.Errorf("%d requests of others have reached Raft, %d streams were denied", seen.Load(), denied.n.Load())
				}

				_, creds := certified(t, ours, security.Member)
				member := securedRaft(t, n, "a", creds, nil)
				if err := send(member); err == nil || !strings.Contains(err.Error(), "seen") || seen.Load() != 1 {
					t.Fatalf("of a member: %v", err)
				}
				certify(t, dir, newAuthority(t), security.Member)
				if _, err := own.Reload(); err != nil {
					t.Fatal(err)
				}
				err := send(member)
				if name == "InstallSnapshotRequest" { // it has a stream of its own, which is not opened
					denied.add(nil, security.Peer{}, security.ErrUnauthenticated)
				}
				if err == nil || seen.Load() != 1 || denied.n.Load() < 4 ||
					!errors.Is(*denied.last.Load(), security.ErrUnauthenticated) {
					t.Errorf("of a member whose authority is trusted no longer: %v; %d have reached Raft, %d were denied", err,
						seen.Load(), denied.n.Load())
				}
			})
		})
	}
}

// TestRaftDialsMembersAlone: a process of another role that answers at a member's address
// gets no request.
func TestRaftDialsMembersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, ours := gridtest.NewNetwork(), newAuthority(t)
		_, own := certified(t, ours, security.Member)
		cert, key, err := ours.Issue(authority.Request{Name: "x", Role: security.Member}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		// Its certificate has the name of members, and its role is another by a rule of theirs.
		dir := t.TempDir()
		for name, text := range map[string][]byte{"ca.crt": ours.Certificate(), "member.crt": cert, "member.key": key} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		strict, err := security.Load(security.Config{Dir: dir,
			Rules: []security.Rule{{Match: "subject:*", Role: security.Holder}}}, security.Member)
		if err != nil {
			t.Fatal(err)
		}
		var seen atomic.Int32
		end := make(chan struct{})
		defer close(end)
		go answering(securedRaft(t, n, "b", own, nil), end, &seen)
		err = raftRequests["TimeoutNowRequest"](securedRaft(t, n, "a", strict, nil))
		if err == nil || !strings.Contains(err.Error(), "no member") || seen.Load() != 0 {
			t.Errorf("a member calls a holder: %v, %d requests arrived", err, seen.Load())
		}
	})
}

// TestRaftRefusesOtherAuthorities: a stream with a certificate of another authority, or in
// clear text, is denied with a reason.
func TestRaftRefusesOtherAuthorities(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := gridtest.NewNetwork()
		_, own := certified(t, newAuthority(t), security.Member)
		foreign := newAuthority(t)
		dir, _ := certified(t, foreign, security.Member)
		// It trusts the other side, so that it shows its certificate.
		ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		ownFile, _, _, _ := own.Files()
		trusted, err := os.ReadFile(filepath.Join(filepath.Dir(ownFile), "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "ca.crt"), append(ca, trusted...), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs, err := security.Load(security.Config{Dir: dir}, security.Member)
		if err != nil {
			t.Fatal(err)
		}
		var denied denials
		_ = securedRaft(t, n, "b", own, denied.add)
		for who, creds := range map[string]*security.Credentials{"foreign": theirs, "clear": nil} {
			denied.n.Store(0)
			if err := raftRequests["TimeoutNowRequest"](securedRaft(t, n, who, creds, nil)); err == nil {
				t.Errorf("%s: served", who)
			}
			synctest.Wait()
			if denied.n.Load() != 1 || !errors.Is(*denied.last.Load(), security.ErrUnauthenticated) {
				t.Errorf("%s: %d streams were denied", who, denied.n.Load())
			}
		}
	})
}

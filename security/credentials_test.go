package security_test

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

// directory makes a directory with the certificates of an authority.
func directory(t *testing.T, a *authority.Authority, requests ...authority.Request) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(security.AuthorityFile, a.Certificate())
	for _, r := range requests {
		cert, key, err := a.Issue(r, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		write(string(r.Role)+".crt", cert)
		write(string(r.Role)+".key", key)
	}
	return dir
}

// replace replaces files of a directory by those of another.
func replace(t *testing.T, dir, by string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(by, name))
		if err != nil {
			t.Fatal(err)
		}
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

func load(t *testing.T, dir string, role security.Role) *security.Credentials {
	t.Helper()
	c, err := security.Load(security.Config{Dir: dir}, role)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// meet connects a client to a server, and returns whom the server sees, and the errors of both.
func meet(t *testing.T, server, client *tls.Config) (state tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	a, b := net.Pipe()
	defer func() { _, _ = a.Close(), b.Close() }()
	end := time.Now().Add(10 * time.Second)
	_, _ = a.SetDeadline(end), b.SetDeadline(end)
	done := make(chan error, 1)
	s := tls.Server(a, server)
	go func() {
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("x"))
		}
		done <- err
	}()
	c := tls.Client(b, client)
	_, clientErr = c.Read(make([]byte, 1)) // a refusal of the certificate comes after the handshake
	serverErr = <-done
	return s.ConnectionState(), serverErr, clientErr
}

// TestPeerOfACertificate: role and names are those that its authority put into it.
func TestPeerOfACertificate(t *testing.T) {
	a := newAuthority(t)
	dir := directory(t, a,
		authority.Request{Name: "m1", Role: security.Member},
		authority.Request{Name: "web", Role: security.Holder, Names: []security.Pattern{"orders-*", "a b/ä"}},
	)
	member := load(t, dir, security.Member)
	holder := load(t, dir, security.Holder)
	state, serverErr, clientErr := meet(t, member.Server(), holder.Client("10.9.8.7:7948"))
	if serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	p, err := member.PeerOf(&state)
	if err != nil || p.Role != security.Holder || p.Name != "web" || !p.MayUse("orders-1") || !p.MayUse("a b/ä") ||
		p.MayUse("bills") {
		t.Errorf("the peer is %v, %v", p, err)
	}
}

// TestNoMemberAnswers: a process with a certificate of another role is not taken for a member.
func TestNoMemberAnswers(t *testing.T) {
	a := newAuthority(t)
	dir := directory(t, a, authority.Request{Name: "web", Role: security.Holder})
	holder := load(t, dir, security.Holder)
	if _, _, err := meet(t, holder.Server(), holder.Client("10.9.8.7:7948")); err == nil {
		t.Error("a holder was taken for a member")
	}
}

// TestRotatedAuthority: a certificate whose authority is no longer trusted has no identity
// from the reload on, on connections that are open, too.
func TestRotatedAuthority(t *testing.T) {
	a := newAuthority(t)
	dir := directory(t, a, authority.Request{Name: "m1", Role: security.Member},
		authority.Request{Name: "web", Role: security.Holder})
	member, holder := load(t, dir, security.Member), load(t, dir, security.Holder)
	state, serverErr, clientErr := meet(t, member.Server(), holder.Client("x:1"))
	if serverErr != nil || clientErr != nil {
		t.Fatal(serverErr, clientErr)
	}
	next := newAuthority(t)
	other := directory(t, next, authority.Request{Name: "m1", Role: security.Member})
	replace(t, dir, other, "ca.crt", "member.crt", "member.key")
	if changed, err := member.Reload(); !changed || err != nil {
		t.Fatalf("reloaded: %v, %v", changed, err)
	}
	if p, err := member.PeerOf(&state); !errors.Is(err, security.ErrUnauthenticated) {
		t.Errorf("the peer is %v, %v", p, err)
	}
	if _, serverErr, _ := meet(t, member.Server(), holder.Client("x:1")); serverErr == nil {
		t.Error("a certificate of the earlier authority was accepted")
	}
}

// TestAuthorize: a role may do what its row and those below it say, and nothing else.
func TestAuthorize(t *testing.T) {
	rank := map[security.Role]int{security.NoRole: 0, security.Reader: 1, security.Holder: 2, security.Admin: 3,
		security.Member: 4}
	for _, action := range security.Actions() {
		least, _ := security.Least(action)
		for role, r := range rank {
			p := security.Peer{Role: role, ID: "cert:1", Name: "x"}
			err := security.Authorize(p, action, "")
			if allowed := r >= rank[least]; (err == nil) != allowed || err != nil && !errors.Is(err, security.ErrDenied) {
				t.Errorf("%s by %q: %v", action, role, err)
			}
		}
	}
	limited := security.Peer{Role: security.Holder, ID: "cert:1", Names: []security.Pattern{"orders-*"}}
	if err := security.Authorize(limited, security.Attach, "bills"); !errors.Is(err, security.ErrDenied) {
		t.Errorf("attach of another's name: %v", err)
	}
	if err := security.Authorize(limited, security.Attach, "orders-7"); err != nil {
		t.Errorf("attach of its own name: %v", err)
	}
	if err := security.Authorize(security.Peer{}, security.Status, ""); !errors.Is(err, security.ErrUnauthenticated) {
		t.Errorf("status by a caller without identity: %v", err)
	}
	if err := security.Authorize(security.Peer{Role: security.Member, ID: "cert:1"}, "unheard of", ""); !errors.Is(err,
		security.ErrDenied) {
		t.Errorf("an unknown action: %v", err)
	}
}

// TestCheckPattern: a pattern that no new name matches, or that prints like another one, is refused
// wherever patterns enter: in a certificate's statement, a rule, a token, and a relayed caller.
func TestCheckPattern(t *testing.T) {
	for pattern, want := range map[security.Pattern]string{
		"": "has 0 bytes", security.Pattern(strings.Repeat("a", 256)): "has 256 bytes", "a\xff": "is not UTF-8",
		" orders": "begins or ends with a space", "orders\u200b-*": "invisible character U+200B at position 7",
	} {
		err := security.CheckPattern(pattern)
		if !errors.Is(err, security.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pattern, err, want)
		}
		if err := security.CheckNames(security.Holder, []security.Pattern{pattern}); !errors.Is(err, security.ErrInvalid) {
			t.Errorf("names %q: %v", pattern, err)
		}
	}
	for _, pattern := range []security.Pattern{"*", "orders-*", "wöchentlich", "a b"} {
		if err := security.CheckPattern(pattern); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// TestPattern: a star stands for any bytes.
func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		matches       bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"*", "", true}, {"*", "x", true}, {"orders-*", "orders-", true},
		{"orders-*", "order", false}, {"*-eu", "a-eu", true}, {"*-eu", "a-eu-1", false}, {"a*b*c", "a-b-b-c", true},
		{"a*b*c", "acb", false}, {"a*a", "a", false}, {"**", "x", true}, {"*a*", "bab", true},
	} {
		if got := security.Pattern(c.pattern).Matches(c.name); got != c.matches {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

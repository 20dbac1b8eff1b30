//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/calls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

var rotations = flag.Int("rotations", 1, "how often TestRotationUnderLoad replaces everything")

// refusedMost bounds the time in which a caller over HTTP gets only refusals with -judge, and
// refusedEver without it: a busy machine delays whole calls.
const (
	refusedMost = time.Second
	refusedEver = 20 * time.Second
)

// rotation is a directory where certificates are issued, and those of the processes.
type rotation struct {
	t       *testing.T
	root    string
	members []string // directories
	web     string   // that of the clients
	seats   *seats
	token   atomic.Pointer[string]
}

// TestRotationUnderLoad replaces the authority, every certificate, the gossip's key and the
// key of tokens, while holders issue IDs and a caller over HTTP takes some by a token, on a
// new connection each time. No Next fails or waits, and the caller is never refused for long.
// Afterwards the old credentials count no longer.
func TestRotationUnderLoad(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	r := newRotation(t)
	c := &crew{t: t, checker: newChecker()}
	c.ctx, c.stop = context.WithCancel(t.Context())
	t.Cleanup(c.end)
	for i := range 3 {
		one, err := client.Dial(c.within(), client.Config{
			Addrs: r.seats.apisBut(), Security: &security.Config{Dir: r.web, Role: security.Holder,
				Every: 200 * time.Millisecond},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.clients = append(c.clients, one)
		for n := range 5 {
			c.hire(i, fmt.Sprint("name-", n))
		}
	}
	r.newToken()
	caller := r.call(c.ctx)
	before := r.seats.securedStatus(r.root)
	for range *rotations {
		early := r.keep()
		r.rotateAuthority()
		r.rotateGossip()
		r.rotateTokens()
		c.calm("after a rotation")
		r.refused(early)
	}
	after := r.seats.securedStatus(r.root)
	for id, p := range after.Partitions {
		if p.LostTerm != before.Partitions[id].LostTerm {
			t.Errorf("partition %d lost its table", id)
		}
	}
	if len(after.Members) != len(r.members) {
		t.Errorf("%d members", len(after.Members))
	}
	c.end()
	longest, requests, failed := caller()
	c.unique()
	t.Logf("%s; %d requests over HTTP, %d failed, %v without an answer at the longest", c.count(), requests, failed,
		longest.Round(time.Millisecond))
	most := refusedEver
	if *judge {
		most = refusedMost
	}
	if longest > most || requests == 0 {
		t.Errorf("a caller over HTTP got no answer for %v, want %v at most", longest, most)
	}
}

// newRotation starts three agents, each with a directory of its own.
func newRotation(t *testing.T) *rotation {
	t.Helper()
	r := &rotation{t: t, root: secureDir(t)}
	r.seats = &seats{t: t, more: []string{"--expect", "3", "--backups", "1"}}
	for i := range 3 {
		r.members = append(r.members, r.issue("member", fmt.Sprint("m", i+1)))
		r.seats.add().more = []string{"--security-dir", r.members[i]}
	}
	r.web = r.issue("holder", "web")
	r.seats.startAll()
	return r
}

// issue makes a directory for a process.
func (r *rotation) issue(role, name string) string {
	r.t.Helper()
	out := filepath.Join(r.t.TempDir(), "security")
	succeed(r.t, "secure", "issue", "--dir", r.root, "--role", role, "--for", name, "--out", out)
	return out
}

// securedStatus returns the status by an operator's certificate.
func (g *seats) securedStatus(dir string) grid.Status {
	g.t.Helper()
	return awaitStatus(g.t, strings.Join(g.apisBut(), ","), func(s grid.Status) string {
		if s.Leader == "" || len(s.Members) < len(g.all) {
			return "no leader, or not all members"
		}
		return ""
	}, "--security-dir", dir)
}

// rotate does a step of snowgrid secure rotate.
func (r *rotation) rotate(step ...string) {
	r.t.Helper()
	succeed(r.t, append([]string{"secure", "rotate", "--dir", r.root}, step...)...)
}

// copy replaces a file in the directories of processes that have it, as a whole.
func (r *rotation) copy(from, name string, to ...string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(from, name))
	for _, dir := range to {
		at := filepath.Join(dir, name)
		if _, missing := os.Stat(at); missing != nil {
			continue
		}
		err = errors.Join(err, os.WriteFile(at+".next", text, 0o600), os.Rename(at+".next", at))
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// reloads counts the reloads of files that an agent has logged: by SIGHUP, or because it looked
// at them.
func (s *seat) reloads() int {
	return strings.Count(s.stderr.String(), `msg="credentials reloaded"`)
}

// step makes a change of files, and waits until every member, and the clients, follow them.
// Without SIGHUP members would look at them within ten seconds.
func (r *rotation) step(change func()) {
	r.t.Helper()
	before := map[*seat]int{}
	for _, s := range r.seats.all {
		before[s] = s.reloads()
	}
	change()
	for _, s := range r.seats.all {
		s.signal(syscall.SIGHUP)
	}
	for _, s := range r.seats.all {
		await(r.t, s.api+" follows its files", func() bool {
			return s.reloads() > before[s]
		})
	}
	<-time.After(time.Second) // clients look five times a second
}

// processes are the directories of all processes.
func (r *rotation) processes() []string { return append([]string{r.web}, r.members...) }

func (r *rotation) rotateAuthority() {
	r.t.Helper()
	r.step(func() {
		r.rotate("authority")
		r.copy(r.root, security.AuthorityFile, r.processes()...)
	})
	r.step(func() {
		r.rotate("certificates")
		for i, dir := range r.members {
			r.reissue("member", fmt.Sprint("m", i+1), dir)
		}
		r.reissue("holder", "web", r.web)
	})
	r.step(func() {
		r.rotate("authority", "--finish")
		r.copy(r.root, security.AuthorityFile, r.processes()...)
	})
}

// reissue replaces the certificate of a process.
func (r *rotation) reissue(role, name, dir string) {
	r.t.Helper()
	fresh := r.issue(role, name)
	r.copy(fresh, role+".key", dir)
	r.copy(fresh, role+".crt", dir)
}

// rotateGossip replaces the key by commands to the grid, which write the members' files.
func (r *rotation) rotateGossip() {
	r.t.Helper()
	at := []string{"--addr", strings.Join(r.seats.apisBut(), ","), "--security-dir", r.root}
	key := filepath.Join(r.t.TempDir(), "new.key")
	if err := os.WriteFile(key, []byte(succeed(r.t, "keyring", "generate")), 0o600); err != nil {
		r.t.Fatal(err)
	}
	old := keysIn(r.t, r.members[0])
	succeed(r.t, append([]string{"keyring", "install", "@" + key}, at...)...)
	succeed(r.t, append([]string{"keyring", "use", "@" + key}, at...)...)
	earlier := filepath.Join(r.t.TempDir(), "earlier.key")
	if err := os.WriteFile(earlier, []byte(old[0]), 0o600); err != nil {
		r.t.Fatal(err)
	}
	succeed(r.t, append([]string{"keyring", "remove", "@" + earlier}, at...)...)
	for _, dir := range r.members {
		if now := keysIn(r.t, dir); len(now) != 1 || now[0] == old[0] {
			r.t.Errorf("%s has %d keys, and the first is the earlier one: %v", dir, len(now), now[0] == old[0])
		}
	}
	r.copy(r.members[0], security.GossipKeysFile, r.root) // for members that are issued later
}

// keysIn returns the keys of the gossip in a directory.
func keysIn(t *testing.T, dir string) (keys []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, security.GossipKeysFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		if !strings.HasPrefix(line, "#") {
			keys = append(keys, line)
		}
	}
	return keys
}

func (r *rotation) rotateTokens() {
	r.t.Helper()
	r.step(func() {
		r.rotate("tokens")
		r.copy(r.root, security.TokensFile, r.members...)
	})
	r.newToken()
	r.step(func() {
		r.rotate("tokens", "--finish")
		r.copy(r.root, security.TokensFile, r.members...)
	})
}

// newToken has the caller over HTTP use a new token from now on.
func (r *rotation) newToken() {
	r.t.Helper()
	text := strings.TrimSpace(succeed(r.t, "secure", "token", "--dir", r.root, "--role", "holder", "--names", "http-*",
		"--for", "cron", "--ttl", "1h"))
	r.token.Store(&text)
}

// call takes IDs over HTTP until ctx ends, on a new connection each time. The function that
// it returns waits for the end, and returns how long there was no answer at the longest.
func (r *rotation) call(ctx context.Context) func() (longest time.Duration, requests, failed int) {
	var done sync.WaitGroup
	var longest time.Duration
	var requests, failed int
	done.Go(func() {
		last := time.Now()
		for i := 0; ctx.Err() == nil; i++ {
			err := r.ids(ctx, r.seats.all[i%len(r.seats.all)].api, *r.token.Load())
			if ctx.Err() != nil {
				break
			}
			longest = max(longest, time.Since(last))
			requests++
			if err != nil {
				failed++
				r.t.Logf("over HTTP: %v", err)
			} else {
				last = time.Now()
			}
			<-time.After(20 * time.Millisecond)
		}
	})
	return func() (time.Duration, int, int) {
		done.Wait()
		return longest, requests, failed
	}
}

// ids takes an ID over HTTP. The member is checked by the authorities of the moment.
func (r *rotation) ids(ctx context.Context, api, token string) error {
	text, err := os.ReadFile(filepath.Join(r.root, security.AuthorityFile))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext,
		TLSClientConfig: &tls.Config{RootCAs: pool}}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+api+wire.PathIDs,
		strings.NewReader(`{"name":"http-1","create":{}}`))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", wire.JSON)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return errors.Join(err, response.Body.Close())
}

// earlier are the credentials of before a rotation.
type earlier struct {
	web, member tls.Certificate
	token       string
}

// keep returns what counts now.
func (r *rotation) keep() *earlier {
	r.t.Helper()
	load := func(dir, role string) tls.Certificate {
		cert, err := tls.LoadX509KeyPair(filepath.Join(dir, role+".crt"), filepath.Join(dir, role+".key"))
		if err != nil {
			r.t.Fatal(err)
		}
		return cert
	}
	return &earlier{web: load(r.web, "holder"), member: load(r.members[0], "member"), token: *r.token.Load()}
}

// refused wants members to refuse everything that counted earlier.
func (r *rotation) refused(e *earlier) {
	r.t.Helper()
	for what, cert := range map[string]tls.Certificate{"a holder's": e.web, "a member's": e.member} {
		a := evil.Attacker{Dial: calls.TCP, Refusal: evil.ErrUnwelcome, TLS: &tls.Config{
			InsecureSkipVerify:   true, //nolint:gosec // an attacker does not mind who answers
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &cert, nil },
		}}
		for _, s := range r.seats.all {
			if _, err := a.Do(r.t.Context(), s.api, http.MethodGet, wire.PathStatus, nil, nil); !a.IsRefusal(err) {
				r.t.Errorf("%s certificate of the earlier authority at %s: %v", what, s.api, err)
			}
		}
	}
	for _, s := range r.seats.all {
		if err := r.ids(r.t.Context(), s.api, e.token); err == nil || !strings.Contains(err.Error(), "unauthenticated") {
			r.t.Errorf("a token of the earlier key at %s: %v", s.api, err)
		}
	}
}

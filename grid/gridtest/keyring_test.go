package gridtest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// securely makes a request of a member of a secured grid, with the certificate of a role.
func securely(t *testing.T, g *gridtest.Grid, role security.Role, method, member, path string, body []byte) (status int,
	answer []byte) {
	t.Helper()
	creds, err := security.Load(*g.Credentials(role), role)
	ok(t, "credentials", err)
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: creds.Client(member + ":7948"),
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return g.Network.Host("operator").Dial(ctx, addr)
		},
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(within(t, 15*time.Second), method, "https://"+member+":7948"+path,
		bytes.NewReader(body))
	ok(t, "request", err)
	req.Header.Set("Content-Type", wire.JSON)
	res, err := transport.RoundTrip(req)
	ok(t, path, err)
	defer func() { _ = res.Body.Close() }()
	answer, err = io.ReadAll(res.Body)
	ok(t, path, err)
	return res.StatusCode, answer
}

// keyringOf asks a member for an operation on the gossip's keys, with the certificate of a
// role. The error is the answer's.
func keyringOf(t *testing.T, g *gridtest.Grid, member string, role security.Role,
	in wire.KeyringRequest) (out wire.KeyringResponse, err error) {
	t.Helper()
	body, err := json.Marshal(in)
	ok(t, "request", err)
	status, answer := securely(t, g, role, http.MethodPost, member, wire.PathKeyring, body)
	if bytes.Contains(answer, []byte(in.Key)) && in.Key != "" {
		t.Error("the answer shows the key")
	}
	if status != http.StatusOK {
		var refused wire.Error
		ok(t, "keyring", json.Unmarshal(answer, &refused))
		return out, refused.Unwire()
	}
	return out, json.Unmarshal(answer, &out)
}

// changeKeys is keyringOf for a change that has to succeed at every member, and to be on
// their disks.
func changeKeys(t *testing.T, g *gridtest.Grid, member, operation string, key []byte, want ...[]byte) {
	t.Helper()
	in := wire.KeyringRequest{Operation: operation, Fingerprint: security.Fingerprint(key)}
	if operation == wire.KeyringInstall {
		in = wire.KeyringRequest{Operation: operation, Key: base64.StdEncoding.EncodeToString(key)}
	}
	out, err := keyringOf(t, g, member, security.Admin, in)
	ok(t, operation, err)
	if len(out.Members) != len(g.Running()) || len(out.Advice) > 0 || out.Fingerprint != security.Fingerprint(key) {
		t.Errorf("%s: %+v", operation, out)
	}
	for _, m := range out.Members {
		if m.Error != "" || m.Unsaved != "" || !slices.Equal(m.Keys, prints(want...)) {
			t.Errorf("%s: %+v, want keys %v", operation, m, prints(want...))
		}
	}
	for _, name := range g.Running() {
		if got := keysInFile(t, g, name); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: the file of %s has %v, want %v", operation, name, prints(got...), prints(want...))
		}
	}
}

func prints(keys ...[]byte) []string {
	out := []string{}
	for _, key := range keys {
		out = append(out, security.Fingerprint(key))
	}
	return out
}

func keysFile(g *gridtest.Grid, member string) string {
	return filepath.Join(g.Secrets().Issue(member, security.Member), security.GossipKeysFile)
}

func keysInFile(t *testing.T, g *gridtest.Grid, member string) (keys [][]byte) {
	t.Helper()
	text, err := os.ReadFile(keysFile(g, member))
	ok(t, "keys", err)
	for _, line := range strings.Fields(string(text)) {
		key, err := security.ParseGossipKey(line)
		ok(t, "keys", err)
		keys = append(keys, key)
	}
	return keys
}

// copyKeys gives a member the file of another one.
func copyKeys(t *testing.T, g *gridtest.Grid, from, to string) {
	t.Helper()
	text, err := os.ReadFile(keysFile(g, from))
	ok(t, "keys", err)
	ok(t, "keys", os.WriteFile(keysFile(g, to), text, 0o600))
}

func newKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// keyLoad has clients that issue IDs, and looks at what every member sees, until it is stopped.
type keyLoad struct {
	issued atomic.Int64
	stop   func()
}

// startKeyLoad fails the test at the first ID that is not issued, and whenever a member that
// has run for 5 s does not see another one.
func startKeyLoad(t *testing.T, g *gridtest.Grid, clients int) *keyLoad {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &keyLoad{}
	var wg sync.WaitGroup
	for i := range clients {
		c := g.Client(fmt.Sprintf("web%d", i+1))
		s, err := c.CreateSequencer(t.Context(), fmt.Sprintf("orders-%d", i), sequencer.Config{})
		ok(t, "create", err)
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := s.Next(ctx)
				if err == nil {
					l.issued.Add(1)
				} else if ctx.Err() == nil {
					t.Errorf("Next: %v", err)
				}
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	wg.Go(func() {
		since := map[string]time.Time{}
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			var names []string
			for _, name := range g.Running() {
				if since[name].IsZero() {
					since[name] = time.Now()
				}
				if time.Since(since[name]) > 5*time.Second {
					names = append(names, name)
				}
			}
			for _, name := range names {
				seen := 0
				for _, m := range g.Member(name).Status().Members {
					if m.Alive {
						seen++
					}
				}
				if seen < len(names) {
					t.Errorf("%s sees %d members of %d", name, seen, len(names))
				}
			}
		}
	})
	l.stop = func() {
		cancel()
		wg.Wait()
	}
	t.Cleanup(l.stop)
	return l
}

// TestGossipKeyRotates: a new key is installed, used, and the old one removed, while IDs are
// issued and a member joins at each stage. No member is missed by another one, and one with
// the old key alone is told why it finds no grid.
func TestGossipKeyRotates(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		before := keysInFile(t, g, "m1")[0]
		l := startKeyLoad(t, g, 3)
		next := newKey('n')
		joined := 3
		stage := func(member, operation string, key []byte, want ...[]byte) {
			changeKeys(t, g, member, operation, key, want...)
			changeKeys(t, g, "m2", operation, key, want...) // a second time changes nothing
			joined++
			name := fmt.Sprintf("m%d", joined)
			copyKeys(t, g, "m1", name)
			g.StartMembers(name)
			time.Sleep(15 * time.Second)
		}
		stage("m1", wire.KeyringInstall, next, before, next)
		stage("m2", wire.KeyringUse, next, next, before)
		copyKeys(t, g, "m1", "late") // which comes with both keys when one is gone
		changeKeys(t, g, "m3", wire.KeyringRemove, before, next)
		copyKeys(t, g, "m1", "m6")
		g.StartMembers("m6", "late")
		time.Sleep(15 * time.Second)
		l.stop()
		if n := l.issued.Load(); n < 1000 {
			t.Errorf("%d IDs were issued", n)
		}
		ok(t, "keys", os.WriteFile(keysFile(g, "old"), []byte(base64.StdEncoding.EncodeToString(before)), 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if err := g.TryMember(ctx, "old"); err == nil || !strings.Contains(err.Error(), "the gossip key differs") {
			t.Errorf("a member with the old key: %v", err)
		}
	})
}

// TestGossipKeyRotatesByFiles: the members follow their files, step by step, without a call.
func TestGossipKeyRotatesByFiles(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log recorder
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true, Logger: log.logger()})
		before, next := keysInFile(t, g, "m1")[0], newKey('n')
		l := startKeyLoad(t, g, 1)
		for i, keys := range [][][]byte{{before, next}, {next, before}, {next}} {
			g.Secrets().SetGossipKeys(keys...)
			time.Sleep(15 * time.Second)
			out, err := keyringOf(t, g, "m1", security.Admin, wire.KeyringRequest{Operation: wire.KeyringList})
			ok(t, "list", err)
			for _, m := range out.Members {
				if !slices.Equal(m.Keys, prints(keys...)) || m.Unsaved != "" || m.Error != "" {
					t.Errorf("step %d: %+v, want %v", i, m, prints(keys...))
				}
			}
			if n := log.count("gossip keys changed"); n != 3*(i+1) {
				t.Errorf("step %d: %d changes were logged, want %d", i, n, 3*(i+1))
			}
		}
		l.stop()
	})
}

// TestKeyringRefuses: a key is used only when every member has it, and one that a member
// encrypts with is not removed; the error names the members.
func TestKeyringRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		before, next, third := keysInFile(t, g, "m1")[0], newKey('n'), newKey('3')
		file := func(member string, keys ...[]byte) {
			var text strings.Builder
			for _, key := range keys {
				text.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
			}
			ok(t, "keys", os.WriteFile(keysFile(g, member), []byte(text.String()), 0o600))
		}
		refused := func(role security.Role, in wire.KeyringRequest, want ...string) {
			t.Helper()
			_, err := keyringOf(t, g, "m1", role, in)
			for _, text := range want {
				if err == nil || !strings.Contains(err.Error(), text) {
					t.Errorf("%+v by a %s: %v, want %q", in, role, err, text)
				}
			}
		}
		use := func(key []byte) wire.KeyringRequest {
			return wire.KeyringRequest{Operation: wire.KeyringUse, Fingerprint: security.Fingerprint(key)}
		}
		remove := func(key []byte) wire.KeyringRequest {
			return wire.KeyringRequest{Operation: wire.KeyringRemove, Fingerprint: security.Fingerprint(key)}
		}
		refused(security.Admin, use(next), "m1", "m2", "m3", "install it first")
		refused(security.Admin, remove(next), "no member has a key")
		refused(security.Admin, remove(before), "m1", "m2", "m3", "encrypts with it")
		refused(security.Admin, wire.KeyringRequest{Operation: "turn"}, "give list, install, use or remove")
		refused(security.Admin, wire.KeyringRequest{Operation: wire.KeyringInstall, Key: "eA=="}, "not a gossip key")
		refused(security.Admin, wire.KeyringRequest{Operation: wire.KeyringUse, Fingerprint: "x"}, "8 hex digits")

		file("m2", before, next)
		file("m3", before, next)
		time.Sleep(15 * time.Second)
		refused(security.Admin, use(next), "m1", "install it first")
		out, err := keyringOf(t, g, "m3", security.Admin, wire.KeyringRequest{Operation: wire.KeyringList})
		ok(t, "list", err)
		if len(out.Advice) != 1 || !strings.Contains(out.Advice[0], "m1") ||
			!strings.Contains(out.Advice[0], security.Fingerprint(next)) {
			t.Errorf("advice %q", out.Advice)
		}
		file("m1", before, next, third) // and is not read yet: a call reads it
		changeKeys(t, g, "m1", wire.KeyringInstall, third, before, next, third)

		file("m3", next, before, third)
		time.Sleep(15 * time.Second)
		refused(security.Admin, remove(before), "m1", "m2", "encrypts with it")
		refused(security.Admin, remove(next), "m3", "encrypts with it")
		if text := alertText(statusOf(t, g, "m1"), "gossip_keys_differ"); !strings.Contains(text, "keyring use") {
			t.Errorf("the alert about different keys is %q", text)
		}
	})
}

// TestKeyringOfASilentMember: no key is used or removed while the keys of a member are not
// known, an installation says who missed it, and the list what to do.
func TestKeyringOfASilentMember(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 3, Secured: true})
		before, next := keysInFile(t, g, "m1")[0], newKey('n')
		g.Network.CutOneWay("m3", "m1") // m1's calls of it have no answer, and others vouch for it
		out, err := keyringOf(t, g, "m1", security.Admin, wire.KeyringRequest{Operation: wire.KeyringInstall,
			Key: base64.StdEncoding.EncodeToString(next)})
		ok(t, "install", err)
		silent := 0
		for _, m := range out.Members {
			if m.Error != "" {
				silent++
			}
		}
		if silent != 1 || len(out.Advice) == 0 || !strings.Contains(strings.Join(out.Advice, "\n"), "m3") {
			t.Errorf("%+v", out)
		}
		_, err = keyringOf(t, g, "m1", security.Admin,
			wire.KeyringRequest{Operation: wire.KeyringUse, Fingerprint: security.Fingerprint(next)})
		if err == nil || !strings.Contains(err.Error(), "m3") {
			t.Errorf("use while a member is silent: %v", err)
		}
		g.Network.HealAll()
		time.Sleep(20 * time.Second)
		changeKeys(t, g, "m1", wire.KeyringInstall, next, before, next)
		changeKeys(t, g, "m1", wire.KeyringUse, next, next, before)
	})
}

// TestKeyringOfAnInsecureGrid: no key goes over calls in clear text, and a gossip without a
// key gets none; both say what to do.
func TestKeyringOfAnInsecureGrid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := newKey('k')
		for _, c := range []struct {
			key        []byte
			body, want string
		}{
			{key, `{"operation":"list"}`, security.Fingerprint(key)},
			{key, `{"operation":"install","key":"` + base64.StdEncoding.EncodeToString(newKey('n')) + `"}`,
				"unencrypted and would reveal the key"},
			{nil, `{"operation":"list"}`, "this member's gossip has no key, and cannot get one while it runs"},
			{nil, `{"operation":"use","fingerprint":"00000000"}`, "this member's gossip has no key"},
		} {
			g := gridtest.Start(t, gridtest.Config{Members: 1, InClear: true,
				Change: func(_ string, cfg *grid.Config) { cfg.Security.GossipKey = c.key }})
			if _, answer := request(t, g, "operator", http.MethodPost, "m1:7948", wire.PathKeyring,
				c.body); !strings.Contains(answer, c.want) {
				t.Errorf("%s: %s, want %q", c.body, answer, c.want)
			}
		}
	})
}

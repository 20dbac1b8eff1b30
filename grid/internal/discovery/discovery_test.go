package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/discovery"
	"github.com/snowgrid/snowgrid/internal/dnstest"
)

// table is DNS names in memory; a name without an entry does not exist.
type table struct {
	mu    sync.Mutex // guards what follows
	hosts map[string][]string
	srv   map[string][]*net.SRV
	asked atomic.Int64
}

func (n *table) LookupHost(_ context.Context, host string) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked.Add(1)
	if ips := n.hosts[host]; ips != nil {
		return ips, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (n *table) LookupSRV(_ context.Context, service, proto, name string) (string, []*net.SRV, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if records := n.srv[name]; records != nil && service == "" && proto == "" {
		return name, records, nil
	}
	return "", nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func (n *table) set(host string, ips ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hosts[host] = ips
}

// running returns a finder of entries that runs until the test ends.
func running(t *testing.T, names discovery.Names, log *slog.Logger, entries ...string) *discovery.Finder {
	t.Helper()
	if err := discovery.Check(entries); err != nil {
		t.Fatal(err)
	}
	f, err := discovery.New(entries, discovery.Config{Names: names, Port: 7946, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// finds waits until the finder has the addresses, and fails after limit.
func finds(t *testing.T, f *discovery.Finder, limit time.Duration, want ...string) time.Duration {
	t.Helper()
	began := time.Now()
	deadline := time.After(limit)
	for !slices.Equal(f.Addrs(), want) {
		select {
		case <-f.Changed():
		case <-deadline:
			t.Fatalf("after %v the addresses are %v, want %v", limit, f.Addrs(), want)
		}
	}
	return time.Since(began)
}

// logged keeps the lines of a log until they are taken.
type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

// rest sleeps, and returns when every other goroutine of the bubble waits.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

var quiet = slog.New(slog.DiscardHandler)

// TestNamesThatChange: a name that does not exist at first is found when it does, and its
// addresses are replaced when it has others. While it cannot be resolved they stay.
func TestNamesThatChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &table{hosts: map[string][]string{"b": {"10.0.0.9"}}, srv: map[string][]*net.SRV{}}
		var log logged
		f := running(t, names, slog.New(slog.NewTextHandler(&log, nil)), "10.0.0.1", "a.internal", "srv:_gossip._tcp.c")
		finds(t, f, 0, "10.0.0.1:7946")
		rest(time.Minute)
		if text := log.take(); strings.Count(text, "join address not resolved") < 2 || strings.Count(text, "\n") > 16 ||
			!strings.Contains(text, "no such host") || !strings.Contains(text, "entry=a.internal port=7946") {
			t.Errorf("two names were unknown for a minute, and the log is:\n%s", text)
		}
		if n := names.asked.Load(); n < 12 || n > 40 {
			t.Errorf("an unknown name was asked for %d times in a minute", n)
		}
		names.set("a.internal", "10.0.0.3", "10.0.0.2", "10.0.0.3", "fd00::1")
		took := finds(t, f, 6*time.Second, "10.0.0.1:7946", "10.0.0.2:7946", "10.0.0.3:7946", "[fd00::1]:7946")
		t.Logf("found after %v", took)
		rest(0)
		if text := log.take(); !strings.Contains(text, "count=3 addrs=\"[10.0.0.2:7946 10.0.0.3:7946 [fd00::1]:7946]\"") {
			t.Errorf("the log does not name the addresses:\n%s", text)
		}
		names.set("a.internal", "10.0.0.4")
		finds(t, f, 7*time.Second, "10.0.0.1:7946", "10.0.0.4:7946")
		names.set("a.internal")
		rest(time.Hour)
		finds(t, f, 0, "10.0.0.1:7946", "10.0.0.4:7946")
		names.mu.Lock()
		names.srv["_gossip._tcp.c"] = []*net.SRV{{Target: "b", Port: 1234}, {Target: "unknown", Port: 1}}
		names.mu.Unlock()
		finds(t, f, 6*time.Second, "10.0.0.1:7946", "10.0.0.4:7946", "10.0.0.9:1234")
	})
}

// TestUnresolvedEntries: an entry is listed from its first failure until it leads to an address again, and
// an SRV record or a file while one of its names does not.
func TestUnresolvedEntries(t *testing.T) {
	path := filepath.Join(t.TempDir(), "members")
	if err := os.WriteFile(path, []byte("10.0.0.1:7946\nlost\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		names := &table{hosts: map[string][]string{"b": {"10.0.0.9"}}, srv: map[string][]*net.SRV{}}
		names.srv["_gossip._tcp.c"] = []*net.SRV{{Target: "b", Port: 1234}, {Target: "gone", Port: 1}}
		f := running(t, names, quiet, "10.0.0.1", "b", "a.internal", "srv:_gossip._tcp.c", "srv:_x._tcp.d", "file:"+path,
			"file:"+path+".none")
		began := time.Now()
		unresolved := func() (out []string) {
			for _, u := range f.Unresolved() {
				out = append(out, u.String())
			}
			return out
		}
		rest(time.Second)
		names.set("b") // after a success
		rest(time.Minute)
		want := []string{
			"a.internal (no such host)", "b (no such host)",
			"file:" + path + " (lost: no such host)",
			"file:" + path + ".none (stat " + path + ".none: no such file or directory)",
			"srv:_gossip._tcp.c (b: no such host)", "srv:_x._tcp.d (no such host)",
		}
		for i, text := range want { // a temporary directory has a long name
			if entry, error, _ := strings.Cut(text, " ("); len(error) > 201 {
				want[i] = entry + " (" + error[:200] + ")"
			}
		}
		if got := unresolved(); !slices.Equal(got, want) {
			t.Errorf("got %q\nwant %q", got, want)
		}
		if since := f.Unresolved()[0].Since; !since.Equal(began) {
			t.Errorf("a.internal fails since %v, it began at %v", since, began)
		}
		if since := f.Unresolved()[1].Since; since.Sub(began) < time.Second || since.Sub(began) > 8*time.Second {
			t.Errorf("b fails since %v after the start, it was removed after 1s", since.Sub(began))
		}
		for _, name := range []string{"a.internal", "b", "gone", "lost"} {
			names.set(name, "10.0.0.2")
		}
		rest(15 * time.Second)
		if got := unresolved(); len(got) != 2 || !strings.HasPrefix(got[0], "file:"+path+".none") ||
			!strings.HasPrefix(got[1], "srv:_x._tcp.d") {
			t.Errorf("after the other names exist: %q", got)
		}
	})
}

// TestManyAddresses: the addresses taken from a DNS server are bounded.
func TestManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := &table{hosts: map[string][]string{}}
		var entries []string
		for i := range discovery.MaxEntries {
			name := fmt.Sprint("n", i)
			entries = append(entries, name)
			for j := range 300 {
				names.hosts[name] = append(names.hosts[name], fmt.Sprintf("10.%d.%d.%d", i, j/256, j%256))
			}
		}
		f := running(t, names, quiet, entries[0])
		synctest.Wait()
		if n := len(f.Addrs()); n != 256 {
			t.Errorf("%d addresses of one name", n)
		}
		f = running(t, names, quiet, entries...)
		synctest.Wait()
		if n := len(f.Addrs()); n != 1024 {
			t.Errorf("%d addresses of %d names", n, len(entries))
		}
		if err := discovery.Check(append(entries, "one-more")); err == nil ||
			!strings.Contains(err.Error(), "257 entries; give at most 256") {
			t.Errorf("257 entries: %v", err)
		}
	})
}

// TestAddressFile: a file of addresses is followed. One that cannot be read, or has a line
// that cannot be an address, changes nothing, and the log says which line.
func TestAddressFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "members")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		names := &table{hosts: map[string][]string{"a": {"10.0.0.7"}}}
		var log logged
		f := running(t, names, slog.New(slog.NewTextHandler(&log, nil)), "file:"+path)
		rest(10 * time.Second)
		finds(t, f, 0)
		write("# members\n10.0.0.1:7946\n\n  a:1000 # by name\r\nunknown\n")
		finds(t, f, 6*time.Second, "10.0.0.1:7946", "10.0.0.7:1000")
		names.set("a", "10.0.0.8")
		finds(t, f, 7*time.Second, "10.0.0.1:7946", "10.0.0.8:1000")
		synctest.Wait()
		asked := names.asked.Load()
		rest(20 * time.Second)
		if n := names.asked.Load() - asked; n > 12 {
			t.Errorf("the two names of a file were asked for %d times in 20 s", n)
		}
		log.take()
		for what, bad := range map[string]string{
			"line 2":           "10.0.0.2\n10.0.0.3:x\n",
			"line 1":           "10.0.0.2:0",
			"more than 65536":  strings.Repeat("#", 70_000),
			"more than 256":    strings.Repeat("10.0.0.1\n", 257),
			"file:":            "file:/etc/passwd",
			"give srv:_gossip": "_gossip._tcp.internal",
		} {
			write(bad)
			rest(15 * time.Second)
			finds(t, f, 0, "10.0.0.1:7946", "10.0.0.8:1000")
			if text := log.take(); !strings.Contains(text, what) {
				t.Errorf("%.30q: the log does not say %q:\n%s", bad, what, text)
			}
		}
		if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
			t.Fatal(err)
		}
		rest(15 * time.Second)
		if text := log.take(); !strings.Contains(text, "not a regular file") {
			t.Errorf("the log of a directory is %s", text)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write("10.0.0.5")
		finds(t, f, 6*time.Second, "10.0.0.5:7946")
		write("")
		finds(t, f, 3*time.Second)
	})
}

func TestEntries(t *testing.T) {
	for _, good := range []string{
		"10.0.0.1", "10.0.0.1:7946", "::1", "[::1]", "[::1]:7946", "a", "a.b-c.internal.", "localhost:1",
		"srv:_gossip._tcp.ids.internal", "file:/etc/members", "file:members",
	} {
		if err := discovery.Check([]string{good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, test := range []struct{ bad, word string }{
		{"", "empty"},
		{":7946", "empty"},
		{"10.0.0.1:", "the port"},
		{"10.0.0.1:0", "1 to 65535"},
		{"10.0.0.1:65536", "65536"},
		{"a:b:c", "host:port"},
		{"a b", "host:port"},
		{"http://a:7946", "host:port"},
		{"a,b", "host:port"},
		{"a\u202eb", "U+202E"},
		{"10.0.0.300", "0 to 255"},
		{"10.0.0.300:7946", "0 to 255"},
		{"{{ GetPrivateIP }}:7946", "host:port"},
		{strings.Repeat("a", 254), "at most 253"},
		{"_gossip._tcp.internal", "give srv:_gossip._tcp.internal"},
		{"srv:", "srv:_NAME._tcp.DOMAIN"},
		{"srv:ids.internal", "srv:_NAME._tcp.DOMAIN"},
		{"srv:_gossip._tcp", "srv:_NAME._tcp.DOMAIN"},
		{"srv:_gossip._tcp.ids:7946", "without a port"},
		{"file:", "the path"},
		{"file:a\x00b", "the path"},
	} {
		err := discovery.Check([]string{"10.0.0.1", test.bad})
		if err == nil || !strings.Contains(err.Error(), test.word) ||
			!strings.Contains(err.Error(), fmt.Sprintf("%.20q", test.bad)[:min(10, len(test.bad)+1)]) {
			t.Errorf("%.40q: %v, want %q in it", test.bad, err, test.word)
		}
	}
}

// TestDNS: over the wire of a DNS server, a name that does not exist at first, then has some
// addresses, then others; and a service.
func TestDNS(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	d := dnstest.Start(t)
	f := running(t, d.Resolver(), quiet, "ids.test:7001", "srv:_gossip._tcp.ids.test")
	for d.Queries() < 3 {
		time.Sleep(time.Millisecond)
	}
	if len(f.Addrs()) > 0 {
		t.Errorf("a name that does not exist has %v", f.Addrs())
	}
	d.Set("ids.test", "127.0.0.2", "::1", "127.0.0.1")
	finds(t, f, 10*time.Second, "127.0.0.1:7001", "127.0.0.2:7001", "[::1]:7001")
	d.Set("ids.test", "127.0.0.3")
	finds(t, f, 10*time.Second, "127.0.0.3:7001")
	d.Set("ids-0.ids.test", "127.0.0.5")
	d.Set("_gossip._tcp.ids.test", "0 50 7005 ids-0.ids.test", "0 50 7006 ids-1.ids.test")
	finds(t, f, 10*time.Second, "127.0.0.3:7001", "127.0.0.5:7005")
}

package grid_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// mustNotStart checks that Start refuses a configuration immediately, as an invalid one, or
// for its clock, with an error that has the words.
func mustNotStart(t *testing.T, cfg grid.Config, words ...string) (complaint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), apiPatience)
	defer cancel()
	m, err := grid.Start(ctx, cfg)
	if err == nil {
		_ = m.Close()
		t.Fatalf("it started; it should complain about %q", words)
	}
	want := sequencer.ErrInvalidConfig
	if slices.Contains(words, "clock") {
		want = grid.ErrClock
	}
	if !errors.Is(err, want) || ctx.Err() != nil {
		t.Errorf("error %v, want %v immediately", err, want)
	}
	if text := err.Error(); strings.Count(text, "grid: ") != 1 ||
		strings.Contains(text, sequencer.ErrInvalidConfig.Error()) {
		t.Errorf("error %q: want one prefix, and the cause in its own words", text)
	}
	for _, word := range words {
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(word)) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
	return err.Error()
}

// alone is the configuration of a member that starts alone on loopback, with every port free.
func alone(t *testing.T) grid.Config {
	return grid.Config{
		GossipAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", Expect: 1, DataDir: t.TempDir(),
	}
}

// wallClock is a clock that does not advance.
type wallClock time.Time

func (c wallClock) Now() time.Time { return time.Time(c) }

func TestConfigRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		words  string // that the error has to have, separated by |
		change func(*grid.Config)
	}{
		{"backups|-2", func(c *grid.Config) { c.Backups = -2 }},
		{"backups|32768", func(c *grid.Config) { c.Backups = 32768 }},
		{"partitions|-1", func(c *grid.Config) { c.Partitions = -1 }},
		{"partitions|9000", func(c *grid.Config) { c.Partitions = 9000 }},
		{"Window|1s to 1h", func(c *grid.Config) { c.Window = time.Millisecond }},
		{"Window|1s to 1h", func(c *grid.Config) { c.Window = time.Nanosecond }},
		{"Window|2h0m0s", func(c *grid.Config) { c.Window = 2 * time.Hour }},
		{"Window|-1s", func(c *grid.Config) { c.Window = -time.Second }},
		{"floor|2100", func(c *grid.Config) { c.Floor = time.Date(2100, 1, 2, 0, 0, 0, 0, time.UTC) }},
		{"floor|1969", func(c *grid.Config) { c.Floor = time.Date(1969, 1, 2, 0, 0, 0, 0, time.UTC) }},
		{"expect|-1", func(c *grid.Config) { c.Expect = -1 }},
		{"expect|1001", func(c *grid.Config) { c.Expect = 1001 }},
		{"name", func(c *grid.Config) { c.Name = "a\nb" }},
		{"name", func(c *grid.Config) { c.Name = strings.Repeat("n", 256) }},
		{"name", func(c *grid.Config) { c.Name = "\xff" }},
		{"GossipAddr|nowhere", func(c *grid.Config) { c.GossipAddr = "nowhere" }},
		{"RaftAddr|1.2.3.4", func(c *grid.Config) { c.RaftAddr = "1.2.3.4" }},
		{"APIIdleTimeout|19s|20s to 1h", func(c *grid.Config) { c.APIIdleTimeout = 19 * time.Second }},
		{"APIIdleTimeout|2h", func(c *grid.Config) { c.APIIdleTimeout = 2 * time.Hour }},
		{"APIAddr|::1", func(c *grid.Config) { c.APIAddr = "::1" }},
		{"APIAddr|127.0.0.1:70000|0 to 65535", func(c *grid.Config) { c.APIAddr = "127.0.0.1:70000" }},
		{"RaftAddr|127.0.0.1:http-ish|0 to 65535", func(c *grid.Config) { c.RaftAddr = "127.0.0.1:http-ish" }},
		{"RaftAddr|127.0.0.1:7946|GossipAddr|its own port", func(c *grid.Config) {
			c.GossipAddr, c.RaftAddr = "127.0.0.1:7946", "127.0.0.1:7946"
		}},
		{"GossipAddr|127.0.0.1:-1|0 to 65535", func(c *grid.Config) { c.GossipAddr = "127.0.0.1:-1" }},
		// not of this machine
		{"APIAddr|192.0.2.1:0|AdvertiseHost", func(c *grid.Config) {
			c.APIAddr, c.Security = "192.0.2.1:0", &security.Config{Insecure: true}
		}},
		{"GossipKey|5 bytes|16, 24 or 32", func(c *grid.Config) {
			c.Security = &security.Config{GossipKey: []byte("short")}
		}},
		{"Security|APIAddr|0.0.0.0:0|snowgrid secure init|Insecure", func(c *grid.Config) { c.APIAddr = "0.0.0.0:0" }},
		{"Security|GossipAddr|m1.example:7946|snowgrid secure init",
			func(c *grid.Config) {
				c.GossipAddr, c.Security = "m1.example:7946", &security.Config{GossipKey: make([]byte, 32)}
			}},
		{"Security|RaftAddr", func(c *grid.Config) { c.RaftAddr = ":0" }},
		{"GossipKey|0.0.0.0:0|gossip.keys|Insecure", func(c *grid.Config) {
			c.GossipAddr, c.Security = "0.0.0.0:0", &security.Config{TLS: newAuthority(t).mutual()}
		}},
		{"Security|neither Dir", func(c *grid.Config) { c.Security = &security.Config{Insecure: true, Token: "a.b.c"} }},
		{"Security|neither Dir", func(c *grid.Config) {
			c.Security = &security.Config{GossipKey: make([]byte, 32), GossipKeysFile: "keys"}
		}},
		{"TLS|ClientCAs", func(c *grid.Config) {
			c.Security = &security.Config{TLS: &tls.Config{MinVersion: tls.VersionTLS13}}
		}},
		{"Security|neither Dir", func(c *grid.Config) { c.Security = &security.Config{} }},
		{"Security|no such file: nowhere/member.crt|secure init",
			func(c *grid.Config) { c.Security = &security.Config{Dir: "nowhere"} }},
		{"AdvertiseHost|0.0.0.0|omit it", func(c *grid.Config) { c.AdvertiseHost = "0.0.0.0" }},
		{"AdvertiseHost|::|omit it", func(c *grid.Config) { c.AdvertiseHost = "[::]" }},
		{"AdvertiseHost|localhost:7946|the host alone", func(c *grid.Config) { c.AdvertiseHost = "localhost:7946" }},
		{"AdvertiseHost|no-such-host.invalid", func(c *grid.Config) { c.AdvertiseHost = "no-such-host.invalid" }},
		{"clock|2025-12-31", func(c *grid.Config) {
			c.Clock = wallClock(time.Date(2025, 12, 31, 23, 59, 59, 999e6,
				time.UTC))
		}},
		{"clock|1970", func(c *grid.Config) { c.Clock = wallClock(time.Unix(0, 0)) }},
		{"clock|2100|Config.Clock|gridtest",
			func(c *grid.Config) { c.Clock = wallClock(time.Date(2100, 1, 1, 0, 0, 1, 0, time.UTC)) }},
	}
	for _, test := range tests {
		cfg := alone(t)
		test.change(&cfg)
		mustNotStart(t, cfg, strings.Split(test.words, "|")...)
		if err := cfg.Check(); err != nil && !beginsWithField(err) {
			t.Errorf("the error %q does not begin with a field of Config, by which programs find its place", err)
		}
	}
}

// beginsWithField reports whether an error begins with a field of Config, after the name of
// the package.
func beginsWithField(err error) bool {
	text := strings.TrimPrefix(err.Error(), "grid: ")
	name, _, _ := strings.Cut(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return ' '
	}, text), " ")
	_, found := reflect.TypeFor[grid.Config]().FieldByName(name)
	return found
}

func TestConfigPortInUse(t *testing.T) {
	t.Parallel()
	held, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	for setting, change := range map[string]func(c *grid.Config, addr string){
		"GossipAddr": func(c *grid.Config, addr string) { c.GossipAddr = addr },
		"RaftAddr":   func(c *grid.Config, addr string) { c.RaftAddr = addr },
		"APIAddr":    func(c *grid.Config, addr string) { c.APIAddr = addr },
	} {
		cfg := alone(t)
		change(&cfg, held.Addr().String())
		mustNotStart(t, cfg, setting, held.Addr().String(), "in use")
		// Nothing is left of the attempt: the same directory starts elsewhere.
		change(&cfg, "127.0.0.1:0")
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatalf("%s: %v", setting, err)
		}
		_ = m.Close()
	}
	// The same by UDP alone. Another process may have the port by TCP just now, which
	// is complained about first.
	complaint := ""
	for range 20 {
		datagrams, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer datagrams.Close()
		cfg := alone(t)
		cfg.GossipAddr = datagrams.LocalAddr().String()
		if complaint = mustNotStart(t, cfg, "GossipAddr", cfg.GossipAddr, "in use"); strings.Contains(complaint, "udp") {
			return
		}
	}
	t.Errorf("error %q does not say %q", complaint, "udp")
}

func TestConfigDataDir(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), "/dev/null"} {
		cfg := alone(t)
		cfg.DataDir = dir
		mustNotStart(t, cfg, "DataDir", dir)
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != "hello" {
		t.Errorf("the file in the way is now %q, %v", kept, err)
	}

	used := alone(t)
	m, err := grid.Start(testContext(t), used)
	if err != nil {
		t.Fatal(err)
	}
	mustNotStart(t, used, "DataDir", used.DataDir, "another process")
	serves(t, m)
	before := m.Status()
	if err := m.Leave(testContext(t)); err != nil {
		t.Error(err)
	}

	identity := filepath.Join(used.DataDir, ".member.meta")
	good, err := os.ReadFile(identity)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range []string{"", "{", "null", "[]", string(good[:len(good)-1]),
		strings.Replace(string(good), "accepted", "acceptod", 1), "\x00" + string(good)} {
		if err := os.WriteFile(identity, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		mustNotStart(t, used, "DataDir", identity, "damaged")
		if now, err := os.ReadFile(identity); err != nil || string(now) != damaged {
			t.Errorf("the damaged file was changed into %q, %v", now, err)
		}
	}
	if err := os.WriteFile(identity, good, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err = grid.Start(testContext(t), used)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if after := m.Status(); after.Grid != before.Grid ||
		after.Members[0].ID() != before.Members[0].ID() ||
		after.Answering == before.Answering {
		t.Errorf("restarted as %s of grid %s; it was %s of grid %s", after.Answering, after.Grid, before.Answering,
			before.Grid)
	}
}

// recorder is a slog handler that keeps the records at a level or above.
type recorder struct {
	level slog.Level
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Enabled(_ context.Context, l slog.Level) bool { return l >= r.level }
func (r *recorder) WithAttrs([]slog.Attr) slog.Handler           { return r }
func (r *recorder) WithGroup(string) slog.Handler                { return r }
func (r *recorder) Handle(_ context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, rec.Level.String()+" "+rec.Message)
	return nil
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// noNetwork is a network that must not be used.
type noNetwork struct{ t *testing.T }

func (n noNetwork) Listen(addr string) (net.Listener, error) {
	n.t.Errorf("listens at %s", addr)
	return nil, errors.ErrUnsupported
}

func (n noNetwork) ListenPacket(addr string) (net.PacketConn, error) {
	n.t.Errorf("opens a socket at %s", addr)
	return nil, errors.ErrUnsupported
}

func (n noNetwork) Dial(_ context.Context, addr string) (net.Conn, error) {
	n.t.Errorf("dials %s", addr)
	return nil, errors.ErrUnsupported
}

func TestConfigNothing(t *testing.T) {
	t.Parallel()
	began := time.Now()
	ctx := testContext(t)
	m, err := grid.Start(ctx, grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Next(ctx)
	// Those who are several and keep nothing on disk start with a wait of the window and more.
	if took := time.Since(began); err != nil || id <= 0 || took > 15*time.Second {
		t.Errorf("the first ID, %v, came after %v; error %v", id, took, err)
	}
	if m.Addrs() != (grid.Addrs{}) {
		t.Errorf("a member that listens nowhere says it is at %+v", m.Addrs())
	}
	got := s.Definition().Decompose(id).Time
	if earliest, latest := began.Add(-time.Second), time.Now().Add(time.Second); got.Before(earliest) ||
		got.After(latest) {
		t.Errorf("the first ID says %v, want %v to %v", got, earliest, latest)
	}
}

func TestConfigLoneMemberWarnsOnce(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	log := &recorder{level: slog.LevelWarn}
	m, err := grid.Start(ctx, grid.Config{Logger: slog.New(log), Network: noNetwork{t}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Error(err)
	}
	if err := m.Leave(ctx); err != nil {
		t.Error(err)
	}
	if lines := log.all(); len(lines) != 1 || !strings.Contains(lines[0], "equal IDs") {
		t.Errorf("warnings: %q, want one about equal IDs", lines)
	}
}

// TestConfigOtherAddressWarns starts members with listeners; beyond loopback
// without security is worth a warning, and so is a first start, nothing else is.
func TestConfigOtherAddressWarns(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]int{"127.0.0.1:0": 0, "0.0.0.0:0": 1} {
		log := &recorder{level: slog.LevelWarn}
		cfg := alone(t)
		cfg.APIAddr, cfg.AdvertiseHost, cfg.Logger = addr, "127.0.0.1", slog.New(log)
		cfg.Security = &security.Config{Insecure: true}
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.Close()
		lines := log.all()
		if i := slices.IndexFunc(lines,
			func(l string) bool { return strings.Contains(l, "new grid on empty data directories") }); i < 0 {
			t.Errorf("%s: a first start does not say what it cannot know: %q", addr, lines)
		} else {
			lines = slices.Delete(lines, i, i+1)
		}
		if len(lines) != want || (want == 1 && !strings.Contains(lines[0], "Insecure (--insecure) is set")) {
			t.Errorf("%s: warnings %q, want %d", addr, lines, want)
		}
	}
}

// TestNoKeyOnLoopbackGossip: a gossip that this machine alone reaches needs no key, though the
// API is reached from others.
func TestNoKeyOnLoopbackGossip(t *testing.T) {
	t.Parallel()
	log := &recorder{level: slog.LevelWarn}
	cfg := alone(t)
	cfg.APIAddr, cfg.AdvertiseHost, cfg.Logger = "0.0.0.0:0", "127.0.0.1", slog.New(log)
	cfg.Security = &security.Config{TLS: newAuthority(t).mutual()}
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	_ = m.Close()
	if slices.ContainsFunc(log.all(), func(l string) bool { return strings.Contains(l, "Insecure") }) {
		t.Errorf("warnings: %q", log.all())
	}
}

// TestFirstLifeWarnsAtEachStart: FirstLife is true of one start at most, so each start warns.
func TestFirstLifeWarnsAtEachStart(t *testing.T) {
	t.Parallel()
	for range 2 {
		log := &recorder{level: slog.LevelWarn}
		cfg := alone(t)
		cfg.DataDir, cfg.FirstLife, cfg.Logger = "", true, slog.New(log)
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_ = m.Close()
		if !slices.ContainsFunc(log.all(), func(l string) bool { return strings.Contains(l, "FirstLife is set") }) {
			t.Errorf("warnings %q", log.all())
		}
	}
}

// tryPair starts two members that expect each other and returns their errors.
func tryPair(t *testing.T, bound time.Duration, one, two func(*grid.Config)) (members [2]*grid.Member, errs [2]error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	return startPair(ctx, t, one, two)
}

// startPair is tryPair until ctx ends.
func startPair(ctx context.Context, t *testing.T, one, two func(*grid.Config)) (members [2]*grid.Member,
	errs [2]error) {
	t.Helper()
	addrs := freePorts(t, 2)
	var starting sync.WaitGroup
	for i, change := range []func(*grid.Config){one, two} {
		cfg := alone(t)
		cfg.GossipAddr, cfg.Join, cfg.Expect, cfg.Logger = addrs[i], addrs, 2, testLogger()
		change(&cfg)
		starting.Go(func() { members[i], errs[i] = grid.Start(ctx, cfg) })
	}
	starting.Wait()
	t.Cleanup(func() {
		for _, m := range members {
			if m != nil {
				_ = m.Close()
			}
		}
	})
	return members, errs
}

func TestConfigGossipKey(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	key := func(b byte, n int) func(*grid.Config) {
		return func(c *grid.Config) {
			c.Security = &security.Config{GossipKey: []byte(strings.Repeat(string(b), n))}
		}
	}
	none := func(*grid.Config) {}
	members, errs := tryPair(t, time.Minute, key('a', 32), key('a', 32))
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("with one key: %v", err)
	}
	serves(t, members[0])
	for what, keys := range map[string][2]func(*grid.Config){
		"different keys": {key('a', 32), key('b', 32)}, "one without": {key('a', 16), none},
	} {
		_, errs := tryPair(t, 2*time.Second, keys[0], keys[1])
		for i, err := range errs {
			if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) ||
				!strings.Contains(err.Error(), "the gossip key differs") {
				t.Errorf("%s: member %d: %v", what, i, err)
			}
		}
	}
}

// authority signs the certificates of one grid.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	last int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	var der []byte
	der, a.key = a.sign(template, nil)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert = cert
	a.pool.AddCert(cert)
	return a
}

// sign signs a certificate; without parent by itself.
func (a *authority) sign(template, parent *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	template.SerialNumber, template.Subject = big.NewInt(a.last), pkix.Name{CommonName: fmt.Sprint("certificate ", a.last)}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	signer := a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

// mutual returns a configuration for both sides, each of which has to show a
// certificate of the authority.
func (a *authority) mutual() *tls.Config {
	der, key := a.sign(&x509.Certificate{
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		URIs:        security.URIs(security.Member, nil),
	}, a.cert)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		RootCAs:      a.pool, ClientCAs: a.pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}

func TestConfigTLS(t *testing.T) {
	t.Parallel()
	ctx := testContext(t)
	ours, foreign := newAuthority(t), newAuthority(t)
	theirs := foreign.mutual()
	with := func(conf *tls.Config) func(*grid.Config) {
		return func(c *grid.Config) { c.Security = &security.Config{TLS: conf} }
	}
	members, errs := tryPair(t, time.Minute, with(ours.mutual()), with(ours.mutual()))
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatalf("mutual TLS: %v", err)
	}
	for _, m := range members {
		serves(t, m)
	}
	addrs := []string{members[0].Addrs().API, members[1].Addrs().API}
	c, err := client.Dial(ctx, client.Config{Addrs: addrs, Security: &security.Config{TLS: ours.mutual()}})
	if err != nil {
		t.Fatalf("a client with a certificate: %v", err)
	}
	s, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Leave(ctx); err != nil {
		t.Error(err)
	}

	bare := ours.mutual()
	bare.Certificates = nil
	for what, conf := range map[string]*tls.Config{
		"clear text": nil, "no certificate": bare, "another authority's": theirs,
	} {
		var credentials *security.Config
		if conf != nil {
			credentials = &security.Config{TLS: conf}
		}
		c, err := dialFor(ctx, time.Second, client.Config{Addrs: addrs[:1], Security: credentials})
		if conf == theirs {
			// A busy machine may need more than a second for a handshake.
			for d := 2 * time.Second; err != nil && !strings.Contains(err.Error(), "tls: ") && ctx.Err() == nil; d *= 2 {
				c, err = dialFor(ctx, d, client.Config{Addrs: addrs[:1], Security: credentials})
			}
		}
		if err == nil {
			_ = c.Close()
			t.Errorf("a client with %s is let in", what)
			continue
		}
		if !errors.Is(err, sequencer.ErrUnavailable) || !strings.Contains(err.Error(), addrs[0]) {
			t.Errorf("%s: %v", what, err)
		}
		if conf == theirs && !strings.Contains(err.Error(), "tls: ") { // net/http keeps the others' to itself
			t.Errorf("%s: %v does not speak of TLS", what, err)
		}
	}

	_, errs = tryPair(t, 2*time.Second, with(ours.mutual()), with(foreign.mutual()))
	for i, err := range errs {
		if !errors.Is(err, sequencer.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("members of two authorities: member %d: %v", i, err)
		}
	}
}

// dialFor tries to dial for d.
func dialFor(ctx context.Context, d time.Duration, cfg client.Config) (*client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return client.Dial(ctx, cfg)
}

// TestConfigIsCopied changes a configuration after it was used.
func TestConfigIsCopied(t *testing.T) {
	t.Parallel()
	cfg := alone(t)
	cfg.Join = []string{"127.0.0.1:1"}
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range 1000 { // the race detector sees who else looks
		cfg.Join[0] = fmt.Sprint(i)
	}
	serves(t, m)
}

package grid_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// hostileNumbers and hostileTexts are at the edges of what fields and readers hold.
var (
	hostileNumbers = []any{0, 1, 2, 3, 127, 128, 1 << 22, 1<<31 - 1, int64(1 << 31),
		int64(1<<53 - 2), int64(1<<53 - 1), int64(1 << 53), int64(math.MaxInt64 - 1), int64(math.MaxInt64),
		uint64(1 << 63), uint64(math.MaxUint64), -1, int64(math.MinInt64), json.Number("1e3"), json.Number("0.5"), nil, "1"}
	hostileTexts = []any{"a", "b", "*", "a*", "", " ", "a\u202e", "a\x00", "a/../b", "größe", strings.Repeat("x", 63),
		strings.Repeat("x", 64), strings.Repeat("x", 255), strings.Repeat("x", 256), "10.0.0.1:80",
		codeText(1), codeText(2), strings.Repeat("0", 32), "00000000000000aa", nil, 7}
)

// usualValues are taken by a member, for the fields in which it takes few.
var usualValues = map[string]any{"cluster": "a", "code": codeText(1), "protocol": 0, "member": "", "force": true,
	"remove": true, "window_ms": 1000, "voters": 3, "backups": 1, "epoch": nil, "layout": nil,
	"address": "127.0.0.1", "unused_for_ms": 3600000, "nodes": nil, "incarnation": nil,
	"calls": 1 << 20, "names": 1 << 10}

// hostilePaths are the calls that change what a member stores, with the fields of their requests.
var hostilePaths = map[string][]string{
	wire.PathIdentityApply: {"cluster", "name", "#id", "code", "addr"},
	wire.PathIdentityRegister: {"cluster", "name", "#id", "code", "addr", "start", "#incarnation", "#protocol",
		"member", "#nodes"},
	wire.PathIdentityClean:  {"cluster", "name", "[#ids", "#force"},
	wire.PathIdentityDrop:   {"cluster", "name"},
	wire.PathIdentityImport: {"cluster", "name", "#next", "{members #id code addr"},
	wire.PathSettings: {"#backups", "#window_ms", "#voters",
		"{quotas pattern #names #holder_nodes #peer_nodes #calls", "?drop_quotas"},
	wire.PathCreate:          {"name", "#epoch", "#nodes", "layout"},
	wire.PathDestroy:         {"name"},
	wire.PathUnused:          {"#unused_for_ms", "prefix", "#remove"},
	wire.PathForget:          {"member"},
	wire.PathRemove:          {"member"},
	wire.PathLeave:           {"incarnation", "server"},
	membership.PathSubscribe: {"address", "#protocolPort"},
}

// drawnFields returns the fields of a request with values at the edges, or without some of them. Most
// values are those that a member takes, so that requests get past the first check.
func drawnFields(rng *rand.Rand, fields []string) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		name, number := strings.CutPrefix(strings.TrimPrefix(f, "["), "#")
		from, value := hostileTexts, any(string(rune('a'+rng.IntN(3))))
		if number {
			from, value = hostileNumbers, any(1+rng.IntN(2))
		}
		if u, found := usualValues[name]; found {
			value = u
		}
		if name == "start" {
			value = codeText(rng.IntN(1000)) // each request is another process's
		}
		if rng.IntN(10) == 0 || name == "incarnation" && rng.IntN(3) == 0 {
			value = from[rng.IntN(len(from))]
		}
		if strings.HasPrefix(f, "{") {
			parts := strings.Fields(f[1:])
			name, value = parts[0], any(drawnFields(rng, parts[1:]))
			if name != "create" {
				value = []any{value, drawnFields(rng, parts[1:])}
			}
		} else if strings.HasPrefix(f, "?") {
			if name, value = f[1:], nil; rng.IntN(3) == 0 {
				value = []any{string(rune('a' + rng.IntN(3)))}
			}
		} else if strings.HasPrefix(f, "[") {
			value = []any{value, from[rng.IntN(len(from))]}
		}
		if value != nil || rng.IntN(4) == 0 {
			out[name] = value
		}
	}
	return out
}

var hostileRounds = flag.Int("hostile", 0,
	"number of `rounds` of TestHostileValuesLeaveAReadableRoster, of 2000 calls each")

// TestHostileValuesLeaveAReadableRoster drives the calls that change a member's stored state with
// values at the edges, and checks after each that a member could read the roster. After a
// restart the member serves, from what it stored.
func TestHostileValuesLeaveAReadableRoster(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	paths := slices.Sorted(maps.Keys(hostilePaths))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	cfg := alone(t)
	cfg.Window = time.Second // for which a member waits after a restart
	accepted := map[string]int{}
	rounds, calls := long.Or(2, 3), long.Or(300, 400)
	if *hostileRounds > 0 {
		rounds, calls = *hostileRounds, 2000
	}
	for range rounds {
		m, err := grid.Start(testContext(t), cfg)
		if err != nil {
			t.Fatalf("after %v: %v", accepted, err)
		}
		b := newBrowser(t, m, 1)
		for range calls {
			path := paths[rng.IntN(len(paths))]
			in := drawnFields(rng, hostilePaths[path])
			body, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			status, _, answer := b.send(http.MethodPost, path, wire.JSON, bytes.NewReader(body))
			if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
				t.Errorf("%s %s: %d %s", path, body, status, answer)
			}
			if status == http.StatusOK {
				accepted[path]++
			}
			data, err := wire.EncodeRoster(grid.RosterOf(m))
			if err != nil {
				t.Fatalf("%s %s: %v", path, body, err)
			}
			again, err := wire.DecodeRoster(data)
			if err != nil {
				t.Fatalf("after %s %s no member reads the roster: %v", path, body, err)
			}
			if twice, err := wire.EncodeRoster(again); err != nil || !bytes.Equal(twice, data) {
				t.Fatalf("after %s %s a member reads another roster, %v", path, body, err)
			}
		}
		serves(t, m)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m, err := grid.Start(testContext(t), cfg)
	if err != nil {
		t.Fatalf("after %v: %v", accepted, err)
	}
	defer m.Close()
	serves(t, m)
	if accepted[wire.PathIdentityRegister] == 0 || accepted[wire.PathSettings] == 0 || accepted[wire.PathCreate] == 0 {
		t.Errorf("hardly anything was accepted, so the test shows little: %v", accepted)
	}
}

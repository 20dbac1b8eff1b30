package grid_test

import (
	"encoding/json"
	"fmt"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/wire"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// codeText returns the text of a register code.
func codeText(n int) string { return fmt.Sprintf("%032x", n) }

// ofSet makes a call of the set c/web, with further fields, and fails the test unless its
// answer has the status and exactly the fields of want, in JSON.
func (b *browser) ofSet(path string, status int, want string, fields map[string]any) map[string]any {
	b.t.Helper()
	in := map[string]any{"cluster": "c", "name": "web"}
	maps.Copy(in, fields)
	got, out := b.call(path, in)
	delete(out, "version")
	text, _ := out["message"].(string)
	delete(out, "message")
	encoded, err := json.Marshal(out)
	if err != nil {
		b.t.Fatal(err)
	}
	if got != status || want != "" && string(encoded) != want {
		b.t.Errorf("%s %v: %d %s %q, want %d %s", path, fields, got, encoded, text, status, want)
	}
	out["message"] = text
	return out
}

// TestNumbersOverHTTP goes through the life of a set as a program in any language does.
func TestNumbersOverHTTP(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 1)
	for range 2 {
		b.ofSet(wire.PathIdentityNext, http.StatusOK, `{"next":1}`, nil)
	}
	b.ofSet(wire.PathIdentityApply, http.StatusConflict, `{"code":"id_refused","code_legacy":2014,"next":1}`,
		map[string]any{"id": 2, "code": codeText(7)})
	b.ofSet(wire.PathIdentityRegister, http.StatusNotFound, `{"code":"not_registered","code_legacy":2010}`,
		map[string]any{"id": 1, "code": codeText(7)})
	b.ofSet(wire.PathIdentityClean, http.StatusNotFound, `{"code":"unknown_set","code_legacy":2009}`,
		map[string]any{"ids": []int{1}})
	if status, _, out := b.send(http.MethodGet, wire.PathIdentity+"?cluster=c&name=web", "",
		nil); status != http.StatusNotFound || !strings.Contains(string(out), `"code_legacy":2008`) {
		t.Errorf("an unknown set: %d %s", status, out)
	}
	for range 2 { // the answer to the first was lost
		b.ofSet(wire.PathIdentityApply, http.StatusOK, `{"id":1,"next":2}`,
			map[string]any{"id": 1, "code": codeText(7), "addr": "10.0.0.7:80"})
	}
	b.ofSet(wire.PathIdentityApply, http.StatusConflict, `{"code":"id_refused","code_legacy":2014,"next":2}`,
		map[string]any{"id": 1, "code": codeText(8)})
	b.ofSet(wire.PathIdentityApply, http.StatusOK, `{"id":2,"next":3}`,
		map[string]any{"id": 2, "code": codeText(8), "addr": "10.0.0.8:80"})
	b.ofSet(wire.PathIdentityRegister, http.StatusNotFound, `{"code":"not_registered","code_legacy":2010}`,
		map[string]any{"id": 1, "code": codeText(8)})

	first := map[string]any{"id": 1, "code": codeText(7), "addr": "10.0.0.9:80", "start": codeText(1),
		"nodes": map[string]any{"orders": 17}}
	for range 2 {
		out := b.ofSet(wire.PathIdentityRegister, http.StatusOK, "", first)
		if inc, again := number(t, out["incarnation"]), number(t, out["again_ms"]); inc != 1 || again != 5000 ||
			len(out["members"].([]any)) != 2 {
			t.Errorf("registered: %v", out)
		}
	}
	later := map[string]any{"id": 1, "code": codeText(7), "addr": "10.0.0.10:80", "start": codeText(2)}
	out := b.ofSet(wire.PathIdentityRegister, http.StatusOK, "", later)
	if nodes, _ := out["nodes"].(map[string]any); number(t, out["incarnation"]) != 2 ||
		nodes["orders"] != json.Number("17") {
		t.Errorf("the next start: %v", out)
	}
	first["incarnation"] = 1
	if out := b.ofSet(wire.PathIdentityRegister, http.StatusConflict, `{"code":"fenced"}`,
		first); !strings.Contains(out["message"].(string), "incarnation 2") {
		t.Errorf("the start before: %v", out)
	}
	b.ofSet(wire.PathIdentityRegister, http.StatusUpgradeRequired, `{"code":"protocol"}`,
		map[string]any{"id": 1, "code": codeText(7), "protocol": -1})

	if out := b.ofSet(wire.PathIdentityClean, http.StatusConflict, `{"code":"alive","code_legacy":2009}`,
		map[string]any{"ids": []int{1}}); !strings.Contains(out["message"].(string),
		"number 1 at \"10.0.0.10:80\" is alive") {
		t.Errorf("clean: %v", out)
	}
	b.ofSet(wire.PathIdentityClean, http.StatusOK, `{"removed":[2]}`, map[string]any{"ids": []int{2, 9, 2}, "force": true})
	b.ofSet(wire.PathIdentityClean, http.StatusOK, `{"removed":[]}`, map[string]any{"ids": []int{2}})
	b.ofSet(wire.PathIdentityNext, http.StatusOK, `{"next":3}`, nil)
	b.ofSet(wire.PathIdentityImport, http.StatusOK, `{"members":3,"next":8}`,
		map[string]any{"members": []any{map[string]any{"id": 7}, map[string]any{"id": 2, "code": codeText(8)}}})
	b.ofSet(wire.PathIdentityRegister, http.StatusOK, "", map[string]any{"id": 7, "code": codeText(9)})

	_, _, listed := b.send(http.MethodGet, wire.PathIdentity+"?cluster=c&name=web&after=1", "", nil)
	want := `{"sets":[{"cluster":"c","name":"web","next":8,"count":3,"incarnation":2,"members":[` +
		`{"id":2,"incarnation":0,"state":"applied","alive":null},{"id":7,"incarnation":1,"state":"registered","alive":true}]}]}`
	if string(listed) != want+"\n" {
		t.Errorf("the set is %s, want %s", listed, want)
	}
	_, _, listed = b.send(http.MethodGet, wire.PathIdentity, "", nil)
	if want := `{"sets":[{"cluster":"c","name":"web","next":8,"count":3,"incarnation":2}]}`; string(listed) != want+"\n" {
		t.Errorf("the sets are %s, want %s", listed, want)
	}
}

// TestBadNumberRequests: the error names the value and the limit.
func TestBadNumberRequests(t *testing.T) {
	t.Parallel()
	b := newBrowser(t, startOne(t, nil), 2)
	many := make([]int, wire.MaxNumbers+1)
	nodes := map[string]any{}
	for i := range wire.MaxPreferredNodes + 1 {
		nodes[fmt.Sprint("s", i)] = i
	}
	for i, test := range []struct {
		path string
		in   map[string]any
		text string
	}{
		{wire.PathIdentityNext, map[string]any{"cluster": ""}, "1 to 63 bytes"},
		{wire.PathIdentityNext, map[string]any{"name": strings.Repeat("x", 64)}, "1 to 63 bytes"},
		{wire.PathIdentityApply, map[string]any{"id": 0, "code": codeText(1)}, "must be 1 to"},
		{wire.PathIdentityApply, map[string]any{"id": 1}, "has no code"},
		{wire.PathIdentityApply, map[string]any{"id": 1, "code": "short"}, "32 lower-case hex digits"},
		{wire.PathIdentityApply, map[string]any{"id": 1, "code": codeText(1), "addr": strings.Repeat("x", 256)}, "255 bytes"},
		{wire.PathIdentityRegister, map[string]any{"id": 1, "code": codeText(1), "nodes": nodes}, "at most 32"},
		{wire.PathIdentityRegister, map[string]any{"id": 1, "code": codeText(1), "nodes": map[string]any{"a\n": 1}}, "name"},
		{wire.PathIdentityClean, map[string]any{"ids": []int{}}, "1 to 1000"},
		{wire.PathIdentityClean, map[string]any{"ids": many}, "1001"},
		{wire.PathIdentityImport, nil, "0 numbers to import"},
		{wire.PathIdentityImport, map[string]any{"next": int64(1 << 60)}, "next number is 1152921504606846976"},
		{wire.PathIdentity, map[string]any{"cluster": ""}, "without cluster"},
		{wire.PathIdentity, map[string]any{"colour": "red"}, "colour"},
	} {
		out := b.ofSet(test.path, http.StatusBadRequest, "", test.in)
		if !strings.Contains(out["message"].(string), test.text) {
			t.Errorf("%d: %q, want %q in it", i, out["message"], test.text)
		}
	}
	for query, text := range map[string]string{"?color=red": "unknown key", "?after=x": "give a number",
		"?name=a&name=b": "given 2 times", "?%zz": "invalid URL escape"} {
		if status, _, out := b.send(http.MethodGet, wire.PathIdentity+query, "", nil); status != http.StatusBadRequest ||
			!strings.Contains(string(out), text) {
			t.Errorf("%s: %d %s", query, status, out)
		}
	}
}

// TestNumbersSurviveARestart: by the log, and by a snapshot.
func TestNumbersSurviveARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gridtest.Start(t, gridtest.Config{Members: 1, Durable: true})
		h := calls.NewPool(g.Network.Host("operator").Dial, nil)
		defer h.Close()
		for id := range uint64(3) {
			applyFor(t, h, id+1, byte(id+1))
			if id == 1 {
				cutLog(t, g.Member("m1"))
			}
		}
		g.Crash("m1")
		g.StartMembers("m1")
		for id := range uint64(3) {
			applyFor(t, h, id+1, byte(id+1)) // the codes are known still
		}
		applyFor(t, h, 4, 4)
		s := g.Member("m1").Status().Sets
		if !slices.Equal(s, []grid.SetInfo{{Cluster: "c", Name: "web", Next: 5, Members: 4}}) {
			t.Errorf("the status has %+v", s)
		}
	})
}

// applyFor applies for a number until there is an answer.
func applyFor(t *testing.T, h *calls.Pool, id uint64, code byte) {
	t.Helper()
	in := wire.IdentityApplyRequest{Cluster: "c", Name: "web", ID: id, Code: numbers.Code{code}}
	var err error
	for range 100 {
		var out wire.IdentityApplyResponse
		if err = h.Call(t.Context(), "m1:7948", wire.PathIdentityApply, in, &out); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("number %d: %v", id, err)
}

// TestNumbersSurviveARecovery: a grid that is recovered from one data directory of three
// gives no number again.
func TestNumbersSurviveARecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &lostGrid{t: t, dirs: map[string]string{}, ids: map[string]string{}}
		l.Grid = gridtest.Start(t, gridtest.Config{Members: 3, Durable: true,
			Change: func(name string, c *grid.Config) { l.dirs[name] = c.DataDir }})
		h := calls.NewPool(l.Network.Host("operator").Dial, nil)
		defer h.Close()
		for id := range uint64(3) {
			applyFor(t, h, id+1, byte(id+1))
		}
		time.Sleep(2 * time.Second) // every log has it
		for _, name := range l.Running() {
			l.ids[name] = grid.MemberInfo{Incarnation: l.Member(name).Status().Answering}.ID()
		}
		for _, name := range []string{"m1", "m2", "m3"} {
			l.Crash(name)
		}
		if _, err := l.recover([]string{"m1"}, []string{"m2", "m3"}); err != nil {
			t.Fatal(err)
		}
		l.StartMembers("m1")
		applyFor(t, h, 3, 3) // its code is known still
		applyFor(t, h, 4, 4)
		if s := l.Member("m1").Status().Sets; !slices.Equal(s,
			[]grid.SetInfo{{Cluster: "c", Name: "web", Next: 5, Members: 4}}) {
			t.Errorf("the status has %+v", s)
		}
	})
}

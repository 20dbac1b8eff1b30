package grid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// apiPatience bounds every wait for something that should happen soon.
const apiPatience = time.Minute

// call makes a call in JSON, given and answered as plain objects.
func (b *browser) call(path string, in map[string]any) (status int, out map[string]any) {
	b.t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	status, _, answer := b.send(http.MethodPost, path, wire.JSON, bytes.NewReader(body))
	return status, object(b.t, answer)
}

// mustCall is call where nothing else than 200 will do. As clients do, it repeats a call whose outcome is not
// certain: on a busy machine a create waits long for its disk.
func (b *browser) mustCall(path string, in map[string]any) map[string]any {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		status, out := b.call(path, in)
		if status == http.StatusOK {
			return out
		}
		if out["code"] != "unavailable" || time.Now().After(deadline) {
			b.t.Fatalf("%s: status %d: %v", path, status, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// number reads a number out of an answer.
func number(t *testing.T, v any) int64 {
	t.Helper()
	text, _ := v.(json.Number)
	n, err := text.Int64()
	if err != nil {
		t.Fatalf("%v is not a number: %v", v, err)
	}
	return n
}

// TestAPIOfAnotherLanguage lives through a sequencer's life with nothing but HTTP
// and JSON, as a client does that is not written in Go.
func TestAPIOfAnotherLanguage(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprintf("HTTP/%d", version), func(t *testing.T) {
			testAnotherLanguage(t, newBrowser(t, m, version), fmt.Sprintf("orders-%d", version))
		})
	}
}

func testAnotherLanguage(t *testing.T, b *browser, name string) {
	const holder = "another-language"
	id := fmt.Sprintf("%032x", 0xabc)
	made := b.mustCall(wire.PathCreate, map[string]any{"name": name, "epoch": epoch.Default.UnixMilli(), "nodes": 200})
	again := b.mustCall(wire.PathCreate, map[string]any{"name": name, "epoch": epoch.Default.UnixMilli(), "nodes": 256})
	opened := b.mustCall(wire.PathOpen, map[string]any{"name": name})
	seq := made["sequencer"].(map[string]any)
	if !reflect.DeepEqual(seq, again["sequencer"]) || !reflect.DeepEqual(seq, opened["sequencer"]) ||
		number(t, seq["nodes"]) != 256 {
		t.Errorf("created %v, again %v, opened %v", seq, again["sequencer"], opened["sequencer"])
	}
	if status, out := b.call(wire.PathCreate, map[string]any{"name": name, "epoch": epoch.Default.UnixMilli(),
		"nodes": 128}); status != http.StatusConflict || out["code"] != "conflict" {
		t.Errorf("another definition: %d %v", status, out)
	}

	claim := map[string]any{"sequencer": seq, "id": id, "node": nil, "grid": made["grid"], "version": made["version"],
		"until": 0}
	attached := b.mustCall(wire.PathAttach, map[string]any{"holder": holder, "claim": claim})
	grant := attached["grant"].(map[string]any)
	now, from, until := number(t, attached["time"]), number(t, grant["from"]), number(t, grant["until"])
	if from > until || until <= now || attached["grid"] != made["grid"] {
		t.Errorf("attached: %v", attached)
	}
	if repeated := b.mustCall(wire.PathAttach,
		map[string]any{"holder": holder, "claim": claim}); !reflect.DeepEqual(repeated["node"], attached["node"]) {
		t.Errorf("the same attach got node %v, and then %v", attached["node"], repeated["node"])
	}

	claim["node"], claim["version"], claim["until"] = attached["node"], attached["version"], grant["until"]
	within(t, apiPatience, "a renewal reaches further", func() bool {
		renewed := b.mustCall(wire.PathRenew, map[string]any{"holder": holder, "claims": []any{claim}})
		result := renewed["results"].([]any)[0].(map[string]any)
		if result["error"] != nil {
			t.Fatalf("renewed: %v", result)
		}
		further := result["grant"].(map[string]any)
		return number(t, further["from"]) == from && number(t, further["until"]) > until
	})
	if info := b.sequencerInfo(name); info == nil || number(t, info["attached"]) != 1 ||
		!reflect.DeepEqual(info["attached_nodes"], []any{attached["node"]}) {
		t.Errorf("status while attached: %v", info)
	}
	detach := map[string]any{"holder": holder, "sequencer": seq, "id": id, "node": attached["node"], "last_used": from}
	for range 2 { // the second does nothing
		b.mustCall(wire.PathDetach, detach)
	}
	if info := b.sequencerInfo(name); info == nil || number(t, info["attached"]) != 0 {
		t.Errorf("status when detached: %v", info)
	}

	b.mustCall(wire.PathDestroy, map[string]any{"name": name, "life": seq["life"]})
	if info := b.sequencerInfo(name); info != nil {
		t.Errorf("status when destroyed: %v", info)
	}
	for _, path := range []string{wire.PathOpen, wire.PathDestroy, wire.PathIDs} {
		in := map[string]any{"name": name}
		if status, out := b.call(path, in); status != http.StatusNotFound || out["code"] != "not_found" {
			t.Errorf("%s when destroyed: %d %v", path, status, out)
		}
	}
	renewed := b.mustCall(wire.PathRenew, map[string]any{"holder": holder, "claims": []any{claim}})
	if e, _ := renewed["results"].([]any)[0].(map[string]any)["error"].(map[string]any); e["code"] != "destroyed" {
		t.Errorf("renewed when destroyed: %v", renewed)
	}
}

// sequencerInfo returns a sequencer out of the status, nil if it is not there.
func (b *browser) sequencerInfo(name string) map[string]any {
	b.t.Helper()
	for _, v := range b.mustCall(wire.PathStatus, map[string]any{})["sequencers"].([]any) {
		if info := v.(map[string]any); info["name"] == name {
			return info
		}
	}
	return nil
}

func TestAPIIDs(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	const name = "orders"
	browsers := []*browser{newBrowser(t, m, 1), newBrowser(t, m, 2)}
	for _, b := range browsers {
		for _, unknown := range []string{name, "missing"} {
			if status, out := b.call(wire.PathIDs, map[string]any{"name": unknown}); status != http.StatusNotFound ||
				out["code"] != "not_found" {
				t.Errorf("unknown: %d %v", status, out)
			}
		}
	}
	browsers[0].mustCall(wire.PathCreate, map[string]any{"name": name, "epoch": epoch.Default.UnixMilli()})
	if ids := idsOf(t, browsers[0].mustCall(wire.PathIDs, map[string]any{"name": name})); len(ids) != 1 {
		t.Errorf("n left out: %d IDs", len(ids))
	}
	handle, err := m.CreateSequencer(testContext(t), name, sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const askers, rounds = 8, 10
	got := make([][]sequencer.ID, askers)
	var asking sync.WaitGroup
	for i := range got {
		asking.Go(func() {
			for round := range rounds {
				n := 1 + (round*111+i)%wire.MaxIDs
				if round == 0 {
					n = wire.MaxIDs
				}
				ids := idsOf(t, browsers[i%2].mustCall(wire.PathIDs, map[string]any{"name": name, "n": n}))
				if len(ids) != n || !slices.IsSorted(ids) {
					t.Errorf("asked for %d IDs: %d, sorted %v", n, len(ids), slices.IsSorted(ids))
				}
				own, err := handle.Next(t.Context())
				if err != nil {
					t.Error(err)
				}
				got[i] = append(append(got[i], ids...), own)
			}
		})
	}
	asking.Wait()
	all := slices.Concat(got...)
	slices.Sort(all)
	if distinct := len(slices.Compact(slices.Clone(all))); distinct != len(all) {
		t.Errorf("%d IDs, %d distinct", len(all), distinct)
	}
	now := time.Now()
	parts := handle.Definition().Decompose(all[len(all)-1])
	if age := now.Sub(parts.Time); age < -2*time.Second || age > time.Minute {
		t.Errorf("the last ID says %v, it is %v", parts.Time, now)
	}

	// Destroyed and created again, the name works.
	browsers[1].mustCall(wire.PathDestroy, map[string]any{"name": name})
	browsers[1].mustCall(wire.PathCreate, map[string]any{"name": name, "epoch": epoch.Default.UnixMilli()})
	if ids := idsOf(t, browsers[1].mustCall(wire.PathIDs,
		map[string]any{"name": name, "n": 3})); ids[0] <= all[len(all)-1] {
		t.Errorf("the next life begins with %d, the last one ended with %d", ids[0], all[len(all)-1])
	}
}

// idsOf reads the IDs out of an answer; each has to be a string.
func idsOf(t *testing.T, out map[string]any) (ids []sequencer.ID) {
	t.Helper()
	list, _ := out["ids"].([]any)
	for _, v := range list {
		text, ok := v.(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || n <= 0 {
			t.Errorf("%#v is no ID as a string: %v", v, err)
		}
		ids = append(ids, sequencer.ID(n))
	}
	return ids
}

// TestAPIEventStream: a stream confirms its start, stays open without events for longer
// than any deadline of a call, and reports a destroy immediately.
func TestAPIEventStream(t *testing.T) {
	long.Only(t, "it takes seconds")
	t.Parallel()
	m := startOne(t, nil)
	quiet := 11 * time.Second // above the deadline of one write
	if testing.Short() {
		quiet = 100 * time.Millisecond
	}
	var streams []*holding
	for version := 1; version <= 2; version++ {
		streams = append(streams, hold(t, m, version))
	}
	timer := time.NewTimer(quiet)
	for done := false; !done; {
		select {
		case e := <-streams[0].next:
			t.Fatalf("a stream of HTTP/1.1 on which nothing happens ends: %+v", e)
		case e := <-streams[1].next:
			t.Fatalf("a stream of HTTP/2 on which nothing happens ends: %+v", e)
		case <-timer.C:
			done = true
		}
	}
	for _, s := range streams {
		s.show() // so that its session lives
		s.mustCall(wire.PathDestroy, map[string]any{"name": s.name})
		select {
		case e := <-s.next:
			if e.err != nil || e.Name != s.name {
				t.Errorf("the holder is told %+v", e)
			}
		case <-time.After(apiPatience):
			t.Error("the holder is not told of the destroy")
		}
	}
}

// holding is a holder with an event stream and a handle on one sequencer.
type holding struct {
	*browser
	name, holder string
	made         map[string]any
	next         chan told
}

// told is the result of a read of the stream.
type told struct {
	wire.Event
	err error
}

func hold(t *testing.T, m *grid.Member, version int) *holding {
	t.Helper()
	h := &holding{
		browser: newBrowser(t, m, version), next: make(chan told, 1),
		name: fmt.Sprintf("orders-%d", version), holder: fmt.Sprintf("holder-%d", version),
	}
	h.client.Timeout = 0
	h.made = h.mustCall(wire.PathCreate, map[string]any{"name": h.name, "epoch": epoch.Default.UnixMilli()})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+m.Addrs().API+wire.PathEvents,
		strings.NewReader(`{"holder":"`+h.holder+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", wire.JSON)
	res, err := h.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if first, err := wire.ReadEvent(res.Body); err != nil || first.Name != "" {
		t.Fatalf("first event %+v, error %v", first, err)
	}
	go func() {
		e, err := wire.ReadEvent(res.Body)
		h.next <- told{e, err}
	}()
	h.show()
	return h
}

// show renews a handle without an attachment.
func (h *holding) show() {
	h.t.Helper()
	claim := map[string]any{
		"sequencer": h.made["sequencer"], "id": strings.Repeat("0", 32), "node": nil,
		"grid": h.made["grid"], "version": h.made["version"], "until": 0,
	}
	h.mustCall(wire.PathRenew, map[string]any{"holder": h.holder, "claims": []any{claim}})
}

func TestAPIHealth(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	for version := 1; version <= 2; version++ {
		b := newBrowser(t, m, version)
		for path, want := range map[string]string{"/livez": "alive\n", "/readyz": "ready\n"} {
			if status, _, answer := b.send(http.MethodGet, path, "", nil); status != http.StatusOK || string(answer) != want {
				t.Errorf("%s: %d %q", path, status, answer)
			}
		}
		if _, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{}); err != nil {
			t.Fatal(err)
		}
		// GET and POST say the same; what moves by itself is left out.
		read := func(method string, body io.Reader) (s grid.Status) {
			status, header, answer := b.send(method, wire.PathStatus, wire.JSON, body)
			if err := json.Unmarshal(answer, &s); status != http.StatusOK || err != nil ||
				header.Get("Content-Type") != wire.JSON {
				t.Fatalf("%s: %d %v %v", method, status, header, err)
			}
			s.ClusterTime, s.Ceiling, s.Wall = time.Time{}, time.Time{}, time.Time{}
			for i := range s.Members {
				s.Members[i].Report = nil
			}
			return s
		}
		get, post := read(http.MethodGet, nil), read(http.MethodPost, strings.NewReader("{}"))
		for get.Version != post.Version { // disks are being named, which ends
			get, post = post, read(http.MethodGet, nil)
		}
		if !reflect.DeepEqual(get, post) || !get.Ready || len(get.Sequencers) != 1 || get.Sequencers[0].Attached != 1 {
			t.Errorf("GET  %+v\nPOST %+v", get, post)
		}
	}
}

// TestAPIBeforeTheGrid asks a member that waits for others.
func TestAPIBeforeTheGrid(t *testing.T) {
	t.Parallel()
	addrs := freePorts(t, 2)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := grid.Start(ctx, grid.Config{GossipAddr: addrs[0], RaftAddr: "127.0.0.1:0", APIAddr: addrs[1], Expect: 2,
			Join: addrs[:1]})
		ended <- err
	}()
	get := func(path string) (int, string) {
		res, err := http.Get("http://" + addrs[1] + path)
		if err != nil {
			return 0, ""
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	within(t, apiPatience, "the API answers", func() bool { status, _ := get("/livez"); return status == http.StatusOK })
	if status, text := get("/readyz"); status != http.StatusServiceUnavailable ||
		!strings.Contains(text, "2 members are expected") {
		t.Errorf("/readyz: %d %q", status, text)
	}
	status, text := get("/readyz?verbose")
	if status != http.StatusServiceUnavailable ||
		!strings.HasPrefix(text, "[+]process ok\n[+]disk-and-log ok\n[-]grid-formed failed: 2 members are expected") ||
		!strings.Contains(text, "\n[ ]agreement not checked\n") || !strings.HasSuffix(text, "\nreadyz check failed\n") {
		t.Errorf("/readyz?verbose: %d %q", status, text)
	}
	for _, path := range []string{wire.PathCreate, wire.PathOpen, wire.PathDestroy} {
		res, err := http.Post("http://"+addrs[1]+path, wire.JSON, strings.NewReader(`{"name":"orders"}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if out := object(t, text); res.StatusCode != http.StatusServiceUnavailable || out["code"] != "unavailable" {
			t.Errorf("%s: %d %v", path, res.StatusCode, out)
		}
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "no other member was seen") {
		t.Errorf("start: %v", err)
	}
}

// TestAPIClientOfMember has snowgrid's own client work over the same API.
func TestAPIClientOfMember(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	ctx := testContext(t)
	c, err := client.Dial(ctx, client.Config{Addrs: []string{m.Addrs().API}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]sequencer.ID, 5000)
	if n, err := s.Fill(ctx, ids); err != nil || n != len(ids) || !slices.IsSorted(ids) {
		t.Errorf("%d IDs, error %v", n, err)
	}
	if err := c.Leave(ctx); err != nil {
		t.Error(err)
	}
	if info := m.Status().Sequencers; len(info) != 1 || info[0].Attached != 0 {
		t.Errorf("after the client has left: %+v", info)
	}
}

package calls

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/frames"
	"github.com/snowgrid/snowgrid/internal/session"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/sequencer"
)

func wants(t *testing.T, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%v does not match %v", err, target)
		}
	}
}

// dialTCP opens a connection.
func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}

// serving returns a transport to a member on loopback with a handler, and its address.
func serving(t *testing.T, handler frames.Handler) (string, *Pool) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	serve := framed(ctx, handler)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			served.Go(func() { serve(conn) })
		}
	})
	h := NewPool(dialTCP, nil)
	t.Cleanup(func() {
		h.Close()
		stop()
		_ = ln.Close()
		served.Wait()
	})
	return ln.Addr().String(), h
}

// says is a handler that answers every call alike.
func says(status int, body string) frames.Handler {
	return func(w *frames.Writer, _ *frames.Request) {
		w.SetStatus(status)
		_, _ = io.WriteString(w, body)
	}
}

// answers is a handler that answers every call alike.
func answers(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	data, err := wire.Encode(wire.MsgPack, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCall(t *testing.T) {
	addr, h := serving(t, func(w *frames.Writer, r *frames.Request) {
		body, err := wire.ReadBody(r.Body)
		var in wire.OpenRequest
		if err == nil {
			err = wire.Decode(wire.MsgPack, body, &in)
		}
		if err != nil || r.Head.Path != wire.PathOpen || r.Head.Target != "y" || r.Head.Timeout == 0 {
			t.Errorf("%+v: %+v, %v", r.Head, in, err)
		}
		if in.Name == "gone" {
			e := wire.ErrorOf(sequencer.ErrNotFound, 3)
			w.SetStatus(e.Status())
			_, _ = io.WriteString(w, encoded(t, e))
			return
		}
		_, _ = io.WriteString(w, encoded(t, wire.SequencerResponse{Sequencer: wire.Sequencer{Name: in.Name}}))
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out wire.SequencerResponse
	head := frame.Head{Path: wire.PathOpen, Target: "y"}
	if err := h.CallWith(ctx, addr, head, wire.OpenRequest{Name: "a"}, &out); err != nil || out.Sequencer.Name != "a" {
		t.Errorf("%+v, %v", out, err)
	}
	wants(t, h.CallWith(ctx, addr, head, wire.OpenRequest{Name: "gone"}, &out), sequencer.ErrNotFound)
}

// TestAnswersOfALaterVersion: a member may add fields to its answers, to its errors
// too, before every client knows them.
func TestAnswersOfALaterVersion(t *testing.T) {
	type added struct {
		Deep []any `json:"deep"`
	}
	type sequencerOfLater struct {
		wire.Sequencer
		Zone string `json:"zone"`
	}
	type answerOfLater struct {
		wire.Stamp
		Sequencer sequencerOfLater `json:"sequencer"`
		Added     added            `json:"added"`
	}
	type errorOfLater struct {
		wire.Error
		Zone string `json:"zone"`
	}
	want := wire.SequencerResponse{Stamp: wire.Stamp{Version: 7, Time: 9},
		Sequencer: wire.Sequencer{Name: "a", Nodes: 128}}
	later := encoded(t, answerOfLater{want.Stamp, sequencerOfLater{want.Sequencer, "z"},
		added{[]any{1, "x", nil, map[string]int{"y": 2}}}})
	addr, h := serving(t, says(http.StatusOK, later))
	var out wire.SequencerResponse
	if err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out); err != nil || out != want {
		t.Errorf("%+v, %v", out, err)
	}
	addr, h = serving(t, says(http.StatusNotFound, encoded(t,
		errorOfLater{*wire.ErrorOf(sequencer.ErrNotFound, 3), "z"})))
	wants(t, h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out), sequencer.ErrNotFound)
}

// TestReleaseOfUpgrade: an upgrade states the client's release, and the answer of a release
// without a protocol in common is an error that names both.
func TestReleaseOfUpgrade(t *testing.T) {
	for _, theirs := range []string{"", "1-1 v1", "1-7 v7", "of another form", "8-9 v9"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if stated := r.Header.Get(wire.HeaderRelease); stated != wire.FormatRelease(wire.OwnRelease()) {
				t.Errorf("the upgrade states %q", stated)
			}
			if agent := r.UserAgent(); agent != "snowgrid/"+wire.OwnRelease().Build {
				t.Errorf("the User-Agent is %q", agent)
			}
			if theirs != "" {
				w.Header().Set(wire.HeaderRelease, theirs)
			}
			http.NotFound(w, r)
		}))
		h, addr := NewPool(dialTCP, nil), server.Listener.Addr().String()
		err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &wire.Done{})
		incompatible := theirs == "8-9 v9"
		if err == nil || errors.Is(err, wire.ErrProtocol) != incompatible || !strings.Contains(err.Error(), addr) ||
			strings.Contains(err.Error(), "snowgrid v9 (protocols 8 to 9)") != incompatible {
			t.Errorf("%q: %v", theirs, err)
		}
		h.Close()
		server.Close()
	}
}

// TestNotSnowgrid: if another server listens there, the error names the address and the
// remedy, and is not a bad request.
func TestNotSnowgrid(t *testing.T) {
	secure := httptest.NewUnstartedServer(answers(http.StatusOK, "hello"))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	defer secure.Close()
	type server struct {
		addr, want string
	}
	const remedy = "check that this is a snowgrid API address"
	servers := map[string]server{
		"TLS":    {secure.Listener.Addr().String(), "give Security (--security-dir)"},
		"closed": {"127.0.0.1:1", "refused"},
	}
	for name, handler := range map[string]http.HandlerFunc{
		"page":       answers(http.StatusOK, "<html>hello</html>"),
		"not found":  answers(http.StatusNotFound, "404 page not found\n"),
		"nothing":    answers(http.StatusOK, ""),
		"empty map":  answers(http.StatusBadGateway, "\x80"),
		"oversized":  answers(http.StatusOK, strings.Repeat("x", wire.MaxBody+1)),
		"no content": answers(http.StatusNoContent, ""),
		"moved":      func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
	} {
		s := httptest.NewServer(handler)
		defer s.Close()
		servers[name] = server{s.Listener.Addr().String(), remedy}
	}
	for name, handler := range map[string]frames.Handler{
		"cut in half":  says(http.StatusOK, encoded(t, wire.Done{})[:9]),
		"other answer": says(http.StatusTeapot, "hello"),
	} {
		addr, _ := serving(t, handler)
		servers[name] = server{addr, remedy}
	}
	h := NewPool(dialTCP, nil)
	defer h.Close()
	for name, s := range servers {
		t.Run(name, func(t *testing.T) {
			err := h.Call(t.Context(), s.addr, wire.PathRenew, wire.RenewRequest{}, &wire.RenewResponse{})
			wants(t, err, sequencer.ErrUnavailable)
			if !strings.Contains(err.Error(), s.addr) || !strings.Contains(err.Error(), s.want) {
				t.Errorf("the error is %v", err)
			}
			call := session.New(session.Config{Rand: rand.N[time.Duration]}).NewCall()
			if _, again := call.Tried(0, "a", err); errors.Is(err, sequencer.ErrInvalidConfig) || !again {
				t.Errorf("%v is not worth another try", err)
			}
			ended := make(chan struct{})
			if h.Events(t.Context(), s.addr, wire.EventsRequest{}, func(e wire.Event) { t.Errorf("%+v is an event", e) },
				func() { close(ended) }) == nil {
				<-ended
			}
		})
	}
	wants(t, h.Call(t.Context(), "a b:1", wire.PathOpen, wire.OpenRequest{}, &wire.Done{}), sequencer.ErrInvalidConfig)
}

// TestEndlessAnswer: an answer without end takes bounded memory.
func TestEndlessAnswer(t *testing.T) {
	addr, h := serving(t, func(w *frames.Writer, r *frames.Request) {
		block := bytes.Repeat([]byte("x"), 1<<16)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{}, &wire.Done{})
	runtime.ReadMemStats(&after)
	wants(t, err, sequencer.ErrUnavailable)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("%d bytes of memory", got)
	}
}

// TestCallEndsWithItsContext: with no header, and in the middle of a body.
func TestCallEndsWithItsContext(t *testing.T) {
	hang := map[string]bool{"/header": false, "/body": true}
	addr, h := serving(t, func(w *frames.Writer, r *frames.Request) {
		if hang[r.Head.Path] {
			_, _ = w.Write([]byte{0x81})
			_ = w.Flush()
		}
		<-r.Context().Done()
	})
	for path := range hang {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		err := h.Call(ctx, addr, path, wire.OpenRequest{}, &wire.Done{})
		wants(t, err, sequencer.ErrUnavailable)
		if took := time.Since(began); took > 5*time.Second || ctx.Err() == nil {
			t.Errorf("%s: %v after %v", path, err, took)
		}
		cancel()
	}
}

func TestEventStream(t *testing.T) {
	ended := make(chan struct{})
	addr, h := serving(t, func(w *frames.Writer, r *frames.Request) {
		for _, e := range []wire.Event{{}, {Name: "orders", Life: attachment.Life{1}}} {
			if err := wire.WriteEvent(w, e); err != nil {
				t.Error(err)
			}
			_ = w.Flush()
		}
		<-r.Context().Done()
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, over := make(chan wire.Event, 3), make(chan struct{})
	if err := h.Events(ctx, addr, wire.EventsRequest{Holder: "h"}, func(e wire.Event) { events <- e },
		func() { close(over) }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "orders"} {
		if e := <-events; e.Name != want {
			t.Errorf("%+v, not %q", e, want)
		}
	}
	select {
	case <-over:
		t.Error("the stream ended by itself")
	default:
	}
	cancel()
	<-over
	<-ended
	if len(events) > 0 {
		t.Errorf("%+v is an event", <-events)
	}
}

// TestRefusedStream: the owner's error arrives.
func TestRefusedStream(t *testing.T) {
	e := wire.ErrorOf(sequencer.ErrInvalidConfig, 0)
	addr, h := serving(t, says(e.Status(), encoded(t, e)))
	never := func() { t.Error("a stream that was refused has ended") }
	err := h.Events(t.Context(), addr, wire.EventsRequest{}, func(wire.Event) { never() }, never)
	wants(t, err, sequencer.ErrInvalidConfig)
}

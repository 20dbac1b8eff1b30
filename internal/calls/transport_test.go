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
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
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

// serving returns the address of a server on loopback that speaks HTTP/2 in
// clear text, and a transport to it.
func serving(t *testing.T, handler http.HandlerFunc) (string, *HTTP) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == frame.Path {
			http.NotFound(w, r) // as of a member without frames
			return
		}
		handler(w, r)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	h := NewHTTP(dialTCP, nil)
	t.Cleanup(func() {
		h.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return server.Listener.Addr().String(), h
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

func TestHTTPCall(t *testing.T) {
	addr, h := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := wire.ReadBody(r.Body)
		var in wire.OpenRequest
		if err == nil {
			err = wire.Decode(wire.MsgPack, body, &in)
		}
		if err != nil || r.Method != http.MethodPost || r.ProtoMajor != 2 || r.URL.Path != wire.PathOpen ||
			r.Header.Get("Content-Type") != wire.MsgPack || r.Header.Get("X") != "y" {
			t.Errorf("%s %s %s %v: %+v, %v", r.Proto, r.Method, r.URL, r.Header, in, err)
		}
		if in.Name == "gone" {
			e := wire.ErrorOf(sequencer.ErrNotFound, 3)
			w.WriteHeader(e.Status())
			_, _ = io.WriteString(w, encoded(t, e))
			return
		}
		_, _ = io.WriteString(w, encoded(t, wire.SequencerResponse{Sequencer: wire.Sequencer{Name: in.Name}}))
	})
	var out wire.SequencerResponse
	header := http.Header{"X": {"y"}}
	if err := h.CallWith(t.Context(), addr, wire.PathOpen, header, wire.OpenRequest{Name: "a"}, &out); err != nil ||
		out.Sequencer.Name != "a" {
		t.Errorf("%+v, %v", out, err)
	}
	wants(t, h.CallWith(t.Context(), addr, wire.PathOpen, header, wire.OpenRequest{Name: "gone"}, &out),
		sequencer.ErrNotFound)
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
	addr, h := serving(t, answers(http.StatusOK, later))
	var out wire.SequencerResponse
	if err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out); err != nil || out != want {
		t.Errorf("%+v, %v", out, err)
	}
	addr, h = serving(t, answers(http.StatusNotFound, encoded(t,
		errorOfLater{*wire.ErrorOf(sequencer.ErrNotFound, 3), "z"})))
	wants(t, h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out), sequencer.ErrNotFound)
}

// TestReleasesOfCalls: a call states the client's release, and the answer of a release
// without a protocol in common is an error that names both.
func TestReleasesOfCalls(t *testing.T) {
	want, theirs := wire.SequencerResponse{Sequencer: wire.Sequencer{Name: "a"}}, ""
	addr, h := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if stated := r.Header.Get(wire.HeaderRelease); stated != wire.FormatRelease(wire.OwnRelease()) {
			t.Errorf("the call states %q", stated)
		}
		if theirs != "" {
			w.Header().Set(wire.HeaderRelease, theirs)
		}
		_, _ = io.WriteString(w, encoded(t, want))
	})
	var out wire.SequencerResponse
	for _, theirs = range []string{"", "1-1 v1", "1-7 v7", "of another form"} {
		if err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out); err != nil || out != want {
			t.Errorf("%q: %+v, %v", theirs, out, err)
		}
	}
	theirs = "8-9 v9"
	err := h.Call(t.Context(), addr, wire.PathOpen, wire.OpenRequest{Name: "a"}, &out)
	if wants(t, err, wire.ErrProtocol); !strings.Contains(err.Error(), addr) ||
		!strings.Contains(err.Error(), "snowgrid v9 (protocols 8 to 9)") {
		t.Errorf("the error names neither member nor release: %v", err)
	}
}

// TestNotSnowgrid: if another server listens there, the error names the address and the
// remedy, and is not a bad request.
func TestNotSnowgrid(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"page":        answers(http.StatusOK, "<html>hello</html>"),
		"not found":   answers(http.StatusNotFound, "404 page not found\n"),
		"nothing":     answers(http.StatusOK, ""),
		"empty map":   answers(http.StatusBadGateway, "\x80"),
		"oversized":   answers(http.StatusOK, strings.Repeat("x", wire.MaxBody+1)),
		"no content":  answers(http.StatusNoContent, ""),
		"moved":       func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"cut in half": answers(http.StatusOK, encoded(t, wire.Done{})[:9]),
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			addr, h := serving(t, handler)
			err := h.Call(t.Context(), addr, wire.PathRenew, wire.RenewRequest{}, &wire.RenewResponse{})
			wants(t, err, sequencer.ErrUnavailable)
			if !strings.Contains(err.Error(), addr) || !strings.Contains(err.Error(),
				"check that this is a snowgrid API address") {
				t.Errorf("the error is %v", err)
			}
			call := session.New(session.Config{Rand: rand.N[time.Duration]}).NewCall()
			if _, again := call.Tried(0, "a", err); errors.Is(err, sequencer.ErrInvalidConfig) || !again {
				t.Errorf("%v is not worth another try", err)
			}
			stream, err := h.Events(t.Context(), addr, wire.EventsRequest{})
			if err != nil {
				return
			}
			defer stream.Close()
			if e, err := stream.Next(); err == nil {
				t.Errorf("%+v is an event", e)
			}
		})
	}
}

// TestOtherProtocols: servers that speak no HTTP/2 in clear text.
func TestOtherProtocols(t *testing.T) {
	plain := httptest.NewServer(answers(http.StatusOK, "hello"))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(answers(http.StatusOK, "hello"))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	defer secure.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	h := NewHTTP(dialTCP, nil)
	defer h.Close()
	for _, addr := range []string{plain.Listener.Addr().String(), secure.Listener.Addr().String(),
		closed.Addr().String()} {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		err := h.Call(ctx, addr, wire.PathOpen, wire.OpenRequest{}, &wire.Done{})
		wants(t, err, sequencer.ErrUnavailable)
		if ctx.Err() != nil || !strings.Contains(err.Error(), addr) {
			t.Errorf("%v", err)
		}
		cancel()
	}
	wants(t, h.Call(t.Context(), "a b:1", wire.PathOpen, wire.OpenRequest{}, &wire.Done{}), sequencer.ErrInvalidConfig)
}

// TestEndlessAnswer: an answer without end takes bounded memory.
func TestEndlessAnswer(t *testing.T) {
	addr, h := serving(t, func(w http.ResponseWriter, r *http.Request) {
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
	addr, h := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if hang[r.URL.Path] {
			_, _ = w.Write([]byte{0x81})
			_ = http.NewResponseController(w).Flush()
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
	addr, h := serving(t, func(w http.ResponseWriter, r *http.Request) {
		for _, e := range []wire.Event{{}, {Name: "orders", Life: attachment.Life{1}}} {
			if err := wire.WriteEvent(w, e); err != nil {
				t.Error(err)
			}
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		close(ended)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := h.Events(ctx, addr, wire.EventsRequest{Holder: "h"})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for _, want := range []string{"", "orders"} {
		if e, err := stream.Next(); err != nil || e.Name != want {
			t.Errorf("%+v, %v", e, err)
		}
	}
	next := make(chan error)
	go func() {
		_, err := stream.Next()
		next <- err
	}()
	cancel()
	wants(t, <-next, context.Canceled)
	<-ended
}

// TestRefusedStream: the owner's error arrives.
func TestRefusedStream(t *testing.T) {
	e := wire.ErrorOf(sequencer.ErrInvalidConfig, 0)
	addr, h := serving(t, answers(e.Status(), encoded(t, e)))
	_, err := h.Events(t.Context(), addr, wire.EventsRequest{})
	wants(t, err, sequencer.ErrInvalidConfig)
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNotOpenNamesTheCause: while the store is away at the start, probes, callers and the log have the cause, without
// the password.
func TestNotOpenNamesTheCause(t *testing.T) {
	for _, url := range []string{"postgres://u:hunter2@127.0.0.1:%d/db", "mysql://u:hunter2@127.0.0.1:%d/db",
		"etcd://127.0.0.1:%d/ids"} {
		t.Run(strings.Split(url, ":")[0], func(t *testing.T) {
			t.Parallel()
			p := start(t, "--store", fmt.Sprintf(url, freePort(t)))
			const cause = "connection refused"
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // polled, as by its users
				code, text := p.get("/readyz")
				if code == http.StatusServiceUnavailable && strings.Contains(text, cause) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("readyz: %d %s; log:\n%s", code, text, p.logged())
				}
			}
			code, text := p.post(`{}`)
			if code != http.StatusServiceUnavailable || !strings.Contains(text, cause) {
				t.Errorf("IDs: %d %s", code, text)
			}
			if all := text + p.logged(); !strings.Contains(p.logged(), cause) || strings.Contains(all, "hunter2") {
				t.Errorf("answer and log:\n%s", all)
			}
		})
	}
}

// TestOutageIsAnsweredImmediately: once the grant has ended and renewals fail, callers over HTTP get the cause without
// a wait, for every name; before that they get IDs, and afterwards as well.
func TestOutageIsAnsweredImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leaving{Memory: store.NewMemory()}
		c, err := store.Open(t.Context(), l, store.Config{
			Window: 3 * time.Second, // a bubble begins in 2000
			Clock:  func() time.Time { return time.Now().AddDate(30, 0, 0) },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		def, err := sequencer.Define("default", sequencer.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s := newService(def, slog.New(slog.DiscardHandler))
		s.now = func() time.Time { return time.Now().AddDate(30, 0, 0) }
		if err := s.attach(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		created := &wire.IDsCreate{}
		requests := []wire.IDsRequest{{}, {Name: "orders", Create: created}, {Name: "new", Create: created}}
		ask := func(in wire.IDsRequest) (time.Duration, error) {
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), serveTimeout)
			defer cancel()
			_, err := s.ids(ctx, in)
			return time.Since(began), err
		}
		for _, in := range requests[:2] {
			if _, err := ask(in); err != nil {
				t.Fatalf("%q: %v", in.Name, err)
			}
		}
		l.away.Store(true)
		time.Sleep(1500 * time.Millisecond) // renewals fail, and the grant lasts
		for _, in := range requests[:2] {
			if _, err := ask(in); err != nil {
				t.Errorf("%q while the grant lasts: %v", in.Name, err)
			}
		}
		time.Sleep(5 * time.Second)
		for _, in := range requests {
			if took, err := ask(in); err == nil || took > awayWait || !strings.Contains(err.Error(), "connection refused") {
				t.Errorf("%q in the outage: %v after %v", in.Name, err, took)
			}
		}
		l.away.Store(false)
		time.Sleep(3 * time.Second) // the longest pause between attempts
		for _, in := range requests {
			if _, err := ask(in); err != nil {
				t.Errorf("%q after the outage: %v", in.Name, err)
			}
		}
	})
}

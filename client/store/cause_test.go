package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestLastErrorIsTheCause: an operation whose last call ends with its context reports the error of the call before.
func TestLastErrorIsTheCause(t *testing.T) {
	inBubble(t, func(b *bench) {
		calls := 0
		fails := func(ctx context.Context, _, _ string) error {
			if calls++; calls == 1 {
				return errAway
			}
			<-ctx.Done()
			return ctx.Err()
		}
		s := &hooked{Memory: NewMemory()}
		b.store = s
		c := b.client()
		h := b.create(c)
		if err := h.DetachLogicalNode(b.Context()); err != nil {
			b.Fatal(err)
		}
		s.setBefore(fails)
		for name, do := range map[string]func(ctx context.Context) error{
			"open": func(ctx context.Context) error {
				_, err := open(ctx, s, c.cfg, c.clock)
				return err
			},
			"create": func(ctx context.Context) error {
				_, err := c.CreateSequencer(ctx, "users", sequencer.Config{})
				return err
			},
			"attach": h.AttachLogicalNode,
		} {
			calls = 0
			if err := do(b.within(time.Second)); !errors.Is(err, sequencer.ErrUnavailable) ||
				!strings.Contains(err.Error(), errAway.Error()) {
				b.Errorf("%s: %v", name, err)
			}
			time.Sleep(10 * time.Second) // calls in the background have ended
		}
		s.setBefore(nil)
	})
}

// TestAdviceIsGivenOnce: an error of a store that has an advice gets no other one.
func TestAdviceIsGivenOnce(t *testing.T) {
	err := fmt.Errorf("etcd: no answer: %w; check that a majority of etcd is reachable", context.DeadlineExceeded)
	if advice := adviceFor(err); advice != "" {
		t.Errorf("a second advice: %q", advice)
	}
}

// TestOpenEndsAtATLSRefusal: what one side of TLS refuses until a person acts ends Open, with the settings to check. A
// certificate that has expired may be replaced meanwhile.
func TestOpenEndsAtATLSRefusal(t *testing.T) {
	const expired = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
	for _, text := range append(tlsRefusals, expired) {
		inBubble(t, func(b *bench) {
			s := &hooked{Memory: NewMemory()}
			s.setBefore(func(context.Context, string, string) error { return errors.New(text + "b.test") })
			_, err := Open(b.within(time.Minute), s, Config{})
			if ends := errors.Is(err, sequencer.ErrInvalidConfig); ends == (text == expired) ||
				strings.Count(err.Error(), tlsAdvice) != 1 {
				b.Errorf("%s: %v", text, err)
			}
		})
	}
}

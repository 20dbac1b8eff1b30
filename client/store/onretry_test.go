package store

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestOnRetryHasTheCause: while the store does not answer, Open passes on the error of each attempt.
func TestOnRetryHasTheCause(t *testing.T) {
	inBubble(t, func(b *bench) {
		s, away := switchable()
		away.Store(true)
		time.AfterFunc(5*time.Second, func() { away.Store(false) })
		var causes []error
		c, err := Open(context.Background(), s, Config{
			Clock:   func() time.Time { return time.Now().AddDate(30, 0, 0) }, // a bubble begins in 2000
			OnRetry: func(err error) { causes = append(causes, err) },
		})
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if len(causes) < 2 || !errors.Is(causes[0], errAway) {
			b.Errorf("the causes are %v", causes)
		}
	})
}

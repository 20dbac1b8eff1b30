package main

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/bounded"
)

// TestSignalWhileADiskHangs: an agent ends in time after a signal while a call of a disk does not return.
func TestSignalWhileADiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		defer close(ended)
		ctx, stop := context.WithCancel(t.Context())
		var a agentCommand
		a.LeaveTimeout = 20 * time.Second
		a.Anchor = "file:ids"
		a.open = func(string) (store.Store, error) { stop(); <-ended; return nil, errors.New("closed") }
		began := time.Now()
		err := a.Run(ctx, nil, arguments{}, &sources{}, streams{out: io.Discard, err: io.Discard})
		if took := time.Since(began); !errors.Is(err, bounded.ErrHangs) || took > 25*time.Second {
			t.Errorf("it ended after %v: %v", took, err)
		}
	})
}

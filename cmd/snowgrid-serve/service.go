package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// Limits for one request for IDs, and for all callers' requests together.
const (
	maxIDs = wire.MaxIDs
	// requestsMax is the maximum number of concurrent requests, over HTTP and gRPC.
	requestsMax = 1024
	// idleDetach is the time for which a logical node is kept after the last request for its name.
	idleDetach = time.Minute
	// awayWait is the wait of a request for another name than the command line's during an outage of the store.
	awayWait = 100 * time.Millisecond
)

type service struct {
	def sequencer.Definition // the command line's sequencer
	log *slog.Logger
	// access decides which callers get IDs.
	access *access

	client   atomic.Pointer[store.Client]        // nil until the store is open
	own      atomic.Pointer[sequencer.Sequencer] // the handle for def, nil until it is attached
	requests atomic.Int64                        // in progress
	names    handles.Names                       // requested ones, besides the command line's
	began    time.Time
	now      func() time.Time // the wall clock

	unopened atomic.Pointer[error] // of the last attempt to open the store, nil for none
}

func newService(def sequencer.Definition, log *slog.Logger) *service {
	return &service{def: def, log: log, began: time.Now(), now: time.Now}
}

// attach gets a logical node for the command line's sequencer, and tries again until it succeeds or
// ctx ends. It returns an error only if trying again cannot help.
func (s *service) attach(ctx context.Context, c *store.Client) error {
	s.client.Store(c)
	for {
		h, err := c.CreateSequencer(ctx, s.def.Name(), s.def.Config())
		switch {
		case err == nil:
			s.own.Store(h)
			node, _ := h.LogicalNode()
			s.log.InfoContext(ctx, "logical node attached", "sequencer", s.def.Name(), "node", node)
			return nil
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, sequencer.ErrConflict), errors.Is(err, sequencer.ErrInvalidConfig):
			return err
		}
		s.log.WarnContext(ctx, "no logical node; retrying", "sequencer", s.def.Name(), "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil
		}
	}
}

// notReady returns why the process should get no requests, nil if it should.
func (s *service) notReady() error {
	switch {
	case s.client.Load() == nil:
		return s.notOpen()
	case s.own.Load() == nil:
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: no logical node yet: %s", s.def.Name(),
			s.because("every node may have a holder, see snowgrid-serve status"))
	}
	if health, found := s.health(); found && !health.Ready {
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: %s", s.def.Name(), health.Reason)
	}
	return s.granted()
}

// granted returns why no ID can be issued now, nil if one can.
func (s *service) granted() error {
	h := s.own.Load()
	if h == nil {
		return s.notReady() // the error names the missing part
	}
	if h.State() != sequencer.Attached {
		return failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the handle is %v: %s", s.def.Name(), h.State(),
			s.because("see the log"))
	}
	if until := h.Stats().GrantUntil; !s.now().Before(until) {
		return failure.Errorf(sequencer.ErrGrantExpired,
			"sequencer %q: the grant ended at %s and was not renewed: %s", s.def.Name(),
			until.UTC().Format(time.RFC3339), s.because("the log says why"))
	}
	return nil
}

// away returns why no ID can be issued while an outage lasts: the grant has ended, and the last attempt to renew it
// failed. It is nil while a wait may be short, as after a pause of this process.
func (s *service) away() error {
	if health, found := s.health(); found && health.Failed != nil {
		return s.granted()
	}
	return nil
}

// issuing is granted, and also finds a grant that begins later, and a clock that was set back behind the last ID.
func (s *service) issuing() error {
	if health, found := s.health(); found && !health.Begins.IsZero() {
		return failure.Errorf(sequencer.ErrGrantExpired, "sequencer %q: %s", s.def.Name(), health.Reason)
	}
	return s.granted()
}

// because returns why the handle for the command line's sequencer has no IDs, otherwise if the
// client does not say.
func (s *service) because(otherwise string) string {
	if health, found := s.health(); found {
		return cmp.Or(health.Reason, otherwise)
	}
	return otherwise
}

// health returns the state of the handle for the command line's sequencer.
func (s *service) health() (store.SequencerHealth, bool) {
	c := s.client.Load()
	if c == nil {
		return store.SequencerHealth{}, false
	}
	for _, h := range c.Health().Sequencers {
		if h.Name == s.def.Name() {
			return h, true
		}
	}
	return store.SequencerHealth{}, false
}

// failing records the error of an attempt to open the store.
func (s *service) failing(err error) { s.unopened.Store(&err) }

// notOpen returns the error of a request before the store has been read, with the cause if it is known.
func (s *service) notOpen() error {
	cause := "no attempt has ended so far"
	if err := s.unopened.Load(); err != nil {
		cause = "last error: " + (*err).Error()
	}
	return failure.Errorf(sequencer.ErrUnavailable, "snowgrid-serve: the store has not answered yet, for %v; %s",
		time.Since(s.began).Round(time.Second), cause)
}

// begin counts a request, which end ends. It refuses one above the limit.
func (s *service) begin() error {
	if s.requests.Add(1) > requestsMax {
		s.end()
		return failure.Errorf(sequencer.ErrUnavailable,
			"snowgrid-serve: %d requests are in progress; try again, or run more processes", requestsMax)
	}
	return nil
}

func (s *service) end() { s.requests.Add(-1) }

// fill fills dst with IDs from the command line's sequencer.
func (s *service) fill(ctx context.Context, dst []sequencer.ID) error {
	h := s.own.Load()
	if h == nil {
		return s.notReady()
	}
	if err := s.away(); err != nil {
		return err
	}
	n, err := h.Fill(ctx, dst)
	if n == 0 && errors.Is(err, sequencer.ErrDestroyed) {
		return fmt.Errorf("%w; restart snowgrid-serve to begin another life of it", err)
	}
	return ownFault(err)
}

// ids serves a request for IDs. An empty name selects the command line's sequencer.
func (s *service) ids(ctx context.Context, in wire.IDsRequest) (wire.IDsResponse, error) {
	n, err := in.Count()
	if err != nil {
		return wire.IDsResponse{}, err
	}
	ids := make([]sequencer.ID, n)
	if in.Name == "" || in.Name == s.def.Name() {
		if err := s.checkOwn(in); err != nil {
			return wire.IDsResponse{}, err
		}
		return wire.IDsResponse{IDs: ids}, s.fill(ctx, ids)
	}
	c := s.client.Load()
	if c == nil {
		return wire.IDsResponse{}, s.notOpen()
	}
	away := s.away()
	if away != nil { // the handles of other names may have a grant left
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, awayWait)
		defer cancel()
	}
	found := false
	s.names.Enter(in.Name)
	defer func() { s.forget(ctx, c, s.names.Leave(in.Name, found, time.Since(s.began))) }()
	for try := 1; ; try++ {
		h, err := open(ctx, c, in)
		if err != nil && away != nil && errors.Is(err, ctx.Err()) {
			err = failure.Errorf(sequencer.ErrUnavailable, "sequencer %q: the store does not answer: %s", in.Name, away.Error())
		}
		if err != nil {
			return wire.IDsResponse{}, blamed(in, err)
		}
		found = true
		n, err := h.Fill(ctx, ids)
		// Its name may live again, or its handle was ended for another name.
		if again := n == 0 && (errors.Is(err, sequencer.ErrDestroyed) || errors.Is(err, sequencer.ErrClosed)); !again ||
			try > 1 {
			return wire.IDsResponse{IDs: ids}, ownFault(err)
		}
	}
}

// blamed returns the error of a request's create or open. An invalid name or definition is the caller's mistake.
func blamed(in wire.IDsRequest, err error) error {
	var cfg sequencer.Config
	if in.Create != nil {
		cfg = createConfig(in)
	}
	def, invalid := sequencer.Define(in.Name, cfg)
	if invalid == nil && in.Create != nil {
		invalid = attachment.CheckNew(def, clustertime.TickOf(time.Now()))
	}
	if invalid != nil {
		return err
	}
	return ownFault(err)
}

// ownFault returns sequencer.ErrUnavailable for what the store refuses because of this process's credentials or
// clock: the caller sent a valid request.
func ownFault(err error) error {
	if errors.Is(err, sequencer.ErrInvalidConfig) && !errors.Is(err, sequencer.ErrEpochExhausted) {
		return failure.Errorf(sequencer.ErrUnavailable, "%s", err.Error())
	}
	return err
}

// checkOwn rejects another definition for the command line's sequencer.
func (s *service) checkOwn(in wire.IDsRequest) error {
	if in.Create == nil || in.Name == "" {
		return nil
	}
	def, err := sequencer.Define(in.Name, createConfig(in))
	switch {
	case err != nil:
		return err
	case *in.Create == (wire.IDsCreate{}), def == s.def:
		return nil
	}
	return failure.Errorf(sequencer.ErrConflict,
		"sequencer %q: conflicting definition: this process has %v, requested was %v; use the existing definition, or "+
			"another name", in.Name, s.def, def)
}

func createConfig(in wire.IDsRequest) sequencer.Config {
	return wire.CreateRequest{Name: in.Name, Epoch: in.Create.Epoch,
		Nodes: in.Create.Nodes, Layout: in.Create.Layout, NodeRange: in.Create.NodeRange}.Config()
}

// open returns a name's handle. It creates the sequencer if the request allows it.
func open(ctx context.Context, c *store.Client, in wire.IDsRequest) (h *sequencer.Sequencer, err error) {
	if in.Create == nil {
		h, err = c.OpenSequencer(ctx, in.Name)
	} else {
		h, err = c.CreateSequencer(ctx, in.Name, createConfig(in))
	}
	if err == nil {
		h.DetachWhenIdle(idleDetach)
	}
	return h, err
}

// forget ends the names' handles; their logical nodes are returned.
func (s *service) forget(ctx context.Context, c *store.Client, names []string) {
	for _, name := range names {
		if err := c.Forget(context.WithoutCancel(ctx), name); err != nil {
			s.log.WarnContext(ctx, "handle not ended", "sequencer", name, "error", err)
		}
	}
}

package api

import (
	"context"
	"errors"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"log/slog"
	"testing"
)

// TestAPIServerHasDeadlines: no client can hold a connection indefinitely by being slow.
func TestAPIServerHasDeadlines(t *testing.T) {
	server := New(Config{Life: tenure.NewLife(), Library: librarylog.New(slog.New(slog.DiscardHandler), nil)},
		NewEvents(), nil).http
	if server.ReadHeaderTimeout <= 0 || server.WriteTimeout <= ServeTimeout || server.IdleTimeout <= 0 ||
		server.MaxHeaderBytes <= 0 ||
		server.HTTP2.MaxConcurrentStreams <= 0 {
		t.Errorf("%+v", server)
	}
}

// TestCallOfAnotherTenure: a call between members that arrived before this member left
// their grid is refused; one of a holder is not, since it names no grid (R9).
func TestCallOfAnotherTenure(t *testing.T) {
	life := tenure.NewLife()
	defer life.Stop()
	done := func(context.Context, wire.DirectoryRequest) (wire.Done, error) { return wire.Done{}, nil }
	served := map[string]*Call{"members": Typed("", done).ForMembers().ofTenure(life),
		"holders": Typed("", done).ofTenure(life)}
	for what, c := range map[string]struct {
		path string
		in   *tenure.Tenure
		want error
	}{
		"of this tenure": {"members", life.Tenure(), nil},
		"of another":     {"members", tenure.NewLife().Tenure(), wire.ErrNotAddressed},
		"a holder's, so": {"holders", tenure.NewLife().Tenure(), nil},
	} {
		ctx := tenure.NewContext(t.Context(), c.in)
		if _, err := served[c.path].serve(ctx, wire.DirectoryRequest{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

// TestCallsOfOtherClaims: a call between members of a grid states the claim of the caller's
// roster. A member that is registered under a claim refuses it under another one, but for those by
// which a member catches up or leaves; one that is not registered yet takes it (A9).
func TestCallsOfOtherClaims(t *testing.T) {
	const self = "aaaaaaaaaaaaaaaa-0000000000000001"
	done := func(context.Context, wire.DirectoryRequest) (wire.Done, error) { return wire.Done{}, nil }
	between, any := Typed("", done).ForMembers(), Typed("", done).ForMembers().OfAnyClaim()
	for _, own := range []roster.Claim{"", "01", "02"} {
		clock := handles.NewClock()
		a := &Server{cfg: Config{Self: self, Grid: func() roster.GridID { return roster.GridID{1} },
			State: state.New(clock, clock)}}
		for _, member := range []roster.Incarnation{self, "bbbbbbbbbbbbbbbb-0000000000000001"} {
			a.cfg.State.Apply(&roster.Roster{Claim: own, Members: []roster.Member{{Incarnation: member}}})
			for _, claim := range []roster.Claim{"", "01", "02"} {
				of := roster.GridID{1}.String()
				takes := member != self || own == "" || claim == own
				if err := a.addressed(self, of, string(claim), between); (err == nil) != takes {
					t.Errorf("own claim %q, member %s, call of %q: %v", own, member, claim, err)
				}
				if err := a.addressed(self, of, string(claim), any); err != nil {
					t.Errorf("own claim %q, call of %q of any claim: %v", own, claim, err)
				}
			}
		}
	}
}

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"os"
	"path/filepath"
	"time"
)

// manyHeld is the number of logical nodes in the larger renewal.
const manyHeld = 100

// securityVar is the environment variable with a member's certificate directory.
const securityVar = "SNOWGRID_BENCH_SECURITY"

// measureSecurity compares calls to a grid with mutual TLS and a gossip key with calls to a grid
// without, in turns.
func measureSecurity(ctx context.Context, b *bench) error {
	parent, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(parent) }()
	dir := filepath.Join(parent, "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		return err
	}
	secured, err := newSide(ctx, dir)
	if err != nil {
		return err
	}
	defer secured.end()
	clear, err := newSide(ctx, "")
	if err != nil {
		return err
	}
	defer clear.end()
	pairs := []*pair{
		{name: "attach", ours: secured.attach, bare: clear.attach},
		{name: "renewal of one logical node", ours: secured.renewOne, bare: clear.renewOne},
		{name: fmt.Sprintf("renewal of %d logical nodes", manyHeld), ours: secured.renewMany, bare: clear.renewMany},
		{name: "first call on a new connection", ours: secured.connect, bare: clear.connect},
	}
	for range b.size.attaches {
		for _, p := range pairs {
			if err := p.run(ctx, b.size.turn); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	b.writeSecurity(pairs)
	return nil
}

// side is a holder in one grid; it makes its calls one at a time.
type side struct {
	creds     *security.Credentials
	http      *calls.Pool
	directory wire.DirectoryResponse
	holder    attachment.HolderID // renews
	visitor   attachment.HolderID // attaches and detaches
	one, many wire.RenewRequest
	sequencer wire.Sequencer
	end       func()
}

// newSide starts a grid with one process per member, with security if there is a directory, and
// attaches the logical nodes to renew.
func newSide(ctx context.Context, dir string) (s *side, err error) {
	apis, end, err := startMemberProcesses(ctx, dir)
	if err != nil {
		return nil, err
	}
	s = &side{holder: handles.NewHolder(), visitor: handles.NewHolder(), end: end}
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if dir != "" {
		if s.creds, err = security.Load(security.Config{Dir: dir, Role: security.Holder}, security.Holder); err != nil {
			return nil, err
		}
	}
	s.http = calls.NewPool(calls.TCP, s.creds)
	s.end = func() { s.http.Close(); end() }
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) { // until the grid gives grants
		if s.sequencer, err = s.create(ctx, apis[0], "held"); err == nil {
			s.one, err = s.hold(ctx, 1, "held")
		}
		if err == nil || ctx.Err() != nil || time.Since(began) > startPatience {
			break
		}
	}
	if err == nil {
		_, err = s.create(ctx, apis[0], "held-many")
	}
	if err == nil {
		s.many, err = s.hold(ctx, manyHeld, "held-many")
	}
	return s, err
}

// create requests the directory from a member, and creates a name at its owner.
func (s *side) create(ctx context.Context, api, name string) (wire.Sequencer, error) {
	if err := s.http.Call(ctx, api, wire.PathDirectory, wire.DirectoryRequest{}, &s.directory); err != nil {
		return wire.Sequencer{}, err
	}
	var res wire.SequencerResponse
	err := s.http.Call(ctx, s.owner(name), wire.PathCreate, wire.CreateRequest{Name: name}, &res)
	return res.Sequencer, err
}

func (s *side) partition(name string) roster.PartitionID {
	return roster.PartitionOf(name, len(s.directory.Owners))
}

func (s *side) owner(name string) string {
	at := s.directory.Owners[s.partition(name)]
	if at < 0 {
		return ""
	}
	return s.directory.Members[at].API
}

// hold attaches n logical nodes in a sequencer, and returns the renewal for all of them.
func (s *side) hold(ctx context.Context, n int, name string) (wire.RenewRequest, error) {
	set := wire.ClaimSet{Partition: s.partition(name), Count: n}
	var made wire.SequencerResponse
	if err := s.http.Call(ctx, s.owner(name), wire.PathOpen, wire.OpenRequest{Name: name}, &made); err != nil {
		return wire.RenewRequest{}, err
	}
	for range n {
		claim, res, err := s.take(ctx, s.holder, made.Sequencer)
		if err != nil {
			return wire.RenewRequest{}, err
		}
		got := attachment.Attachment{ID: claim.ID, Node: res.Node, Grant: res.Grant}
		set.Print = set.Print.With(attachment.FingerprintOf(made.Sequencer.Life, got))
	}
	return wire.RenewRequest{Holder: s.holder, Grid: s.directory.Grid, Sets: []wire.ClaimSet{set}}, nil
}

// take attaches one logical node.
func (s *side) take(ctx context.Context, holder attachment.HolderID, q wire.Sequencer) (wire.Claim,
	wire.AttachResponse, error) {
	claim := wire.Claim{Sequencer: q}
	_, _ = rand.Read(claim.ID[:])
	var res wire.AttachResponse
	err := s.http.Call(ctx, s.owner(q.Name), wire.PathAttach, wire.AttachRequest{Holder: holder, Claim: claim}, &res)
	return claim, res, err
}

// attach times one attach. Detaching is not timed.
func (s *side) attach(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	claim, res, err := s.take(ctx, s.visitor, s.sequencer)
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	back := wire.DetachRequest{Holder: s.visitor, Sequencer: s.sequencer, ID: claim.ID, Node: res.Node}
	return took, s.http.Call(ctx, s.owner(s.sequencer.Name), wire.PathDetach, back, &wire.Done{})
}

func (s *side) renewOne(ctx context.Context) (time.Duration, error) {
	return s.renew(ctx, s.one, "held")
}

func (s *side) renewMany(ctx context.Context) (time.Duration, error) {
	return s.renew(ctx, s.many, "held-many")
}

// renew times one renewal.
func (s *side) renew(ctx context.Context, in wire.RenewRequest, name string) (time.Duration, error) {
	var res wire.RenewResponse
	began := time.Now()
	err := s.http.Call(ctx, s.owner(name), wire.PathRenew, in, &res)
	took := time.Since(began)
	if err == nil && (len(res.Sets) != 1 || res.Sets[0] == 0) {
		err = errors.New("the owner does not know the logical nodes")
	}
	return took, err
}

// connect times the first call on a new connection, with its handshakes.
func (s *side) connect(ctx context.Context) (time.Duration, error) {
	h := calls.NewPool(calls.TCP, s.creds)
	defer h.Close()
	var d wire.DirectoryResponse
	began := time.Now()
	err := h.Call(ctx, s.owner("held"), wire.PathDirectory, wire.DirectoryRequest{}, &d)
	return time.Since(began), err
}

func (b *bench) writeSecurity(pairs []*pair) {
	b.report.p("A holder's calls to a grid of %d processes with mutual TLS 1.3, certificates with ECDSA P-256 keys and "+
		"a gossip key, and the "+
		"same calls to a grid without, in turns of one call each; one caller, on loopback. An attach is one call to the "+
		"owner; its way "+
		"back is not timed.\n\n", gridSize)
	var rows [][]string
	for _, p := range pairs {
		row := []string{p.name}
		for _, q := range []float64{0.5, 0.99} {
			ours, bare := p.oursT.percentile(q), p.barT.percentile(q)
			row = append(row, inMillis(ours), inMillis(bare), times(float64(ours)/float64(bare)))
		}
		rows = append(rows, row)
	}
	b.report.table([]string{"call", "mutual TLS, median, ms", "clear text", "ratio", "mutual TLS, p99, ms", "clear text",
		"ratio"}, rows)
	b.report.p(
		"\nIDs are issued inside the process, so security costs them nothing. A process has one connection to a member, " +
			"which it keeps: the first call is paid once each.\n")
	attach, renewal := pairs[0], pairs[1]
	ratio := func(p *pair) float64 { return float64(p.oursT.percentile(0.5)) / float64(p.barT.percentile(0.5)) }
	b.report.headline("attach with mutual TLS", inMillis(attach.oursT.percentile(0.5))+" ms",
		"clear text: "+inMillis(attach.barT.percentile(0.5))+" ms", times(ratio(attach))+" as long")
	b.report.headline("renewal with mutual TLS", inMillis(renewal.oursT.percentile(0.5))+" ms",
		"clear text: "+inMillis(renewal.barT.percentile(0.5))+" ms", times(ratio(renewal))+" as long")
}

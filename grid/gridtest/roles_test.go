package gridtest_test

import (
	"context"
	"errors"
	"github.com/snowgrid/snowgrid/internal/calls"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/grid/gridtest"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// roles is a secured grid, and its callers by HTTP.
type roles struct {
	t   *testing.T
	g   *gridtest.Grid
	log *auditLog
}

func newRoles(t *testing.T) *roles {
	t.Helper()
	log := &auditLog{}
	return &roles{t, gridtest.Start(t,
		gridtest.Config{Members: 3, Secured: true, Logger: slog.New(slog.NewJSONHandler(log, nil))}), log}
}

// client returns a thin client of a role.
func (r *roles) client(host string, role security.Role, names ...security.Pattern) *client.Client {
	r.t.Helper()
	c, err := r.g.TryClient(host, r.g.Credentials(role, names...))
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// call makes one call of a role to a member.
func (r *roles) call(role security.Role, names []security.Pattern, member, path string, in, out any) error {
	r.t.Helper()
	h := calls.NewPool(r.g.Network.Host("ops").Dial, r.g.Load(role, names...))
	defer h.Close()
	head := frame.Head{Path: path, Target: r.g.Member(member).Status().Answering}
	return h.CallWith(r.t.Context(), member+":7948", head, in, out)
}

// TestRolesInAGrid: a reader looks, a holder uses its names and sees those alone, and an admin
// destroys. A denied call fails immediately, and is a line of the audit log.
func TestRolesInAGrid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		ctx := t.Context()
		admin, orders := r.client("ops", security.Admin), r.client("web", security.Holder, "orders-*")
		for _, name := range []string{"orders-1", "bills-1"} {
			if _, err := admin.CreateSequencer(ctx, name, sequencer.Config{}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if _, err := r.client("eye", security.Reader).CreateSequencer(ctx, "orders-1", sequencer.Config{}); !errors.Is(err,
			security.ErrDenied) {
			t.Errorf("a reader creates: %v", err)
		}
		if _, err := orders.CreateSequencer(ctx, "orders-1", sequencer.Config{}); err != nil {
			t.Error(err)
		}
		if _, err := orders.CreateStriped(ctx, "bills-1", sequencer.Config{}, 2); !errors.Is(err, security.ErrDenied) {
			t.Errorf("a holder of orders-* takes bills-1: %v", err)
		}
		if err := orders.DestroySequencer(ctx, "orders-1"); !errors.Is(err, security.ErrDenied) {
			t.Errorf("a holder destroys: %v", err)
		}
		if passed := time.Since(began); passed > time.Second {
			t.Errorf("denials took %v", passed)
		}
		r.log.want(t, "destroy", auditLine{Host: r.g.OwnerOf("orders-1"), Who: "10.0.0.", Result: "denied",
			Error: "needs the role admin"})
		if lines := r.log.of(t, "create"); !slices.ContainsFunc(lines, func(l auditLine) bool {
			return l.Name == "bills-1" && l.Result == "denied" && l.Host == r.g.OwnerOf("bills-1") &&
				strings.Contains(l.Who, "role holder, names orders-*")
		}) {
			t.Errorf("the audit has %+v", lines)
		}
		for _, member := range r.g.Running() {
			r.seesOnly(member, []string{"orders-1"}, security.Holder, "orders-*")
			r.seesOnly(member, []string{"bills-1", "orders-1"}, security.Reader)
		}
		if err := admin.DestroySequencer(ctx, "bills-1"); err != nil {
			t.Errorf("an admin destroys: %v", err)
		}
	})
}

// seesOnly wants the lists and the status of a caller to have some names alone, and no whole
// ID of a holder.
func (r *roles) seesOnly(member string, want []string, role security.Role, names ...security.Pattern) {
	r.t.Helper()
	var listed wire.SequencersResponse
	var status grid.Status
	if err := errors.Join(r.call(role, names, member, wire.PathSequencers, wire.SequencersRequest{Limit: 10}, &listed),
		r.call(role, names, member, wire.PathStatus, wire.StatusRequest{}, &status)); err != nil {
		r.t.Fatal(err)
	}
	if !slices.Equal(listed.Names, names) {
		r.t.Errorf("%s lists for %v, and the caller has %v", member, listed.Names, names)
	}
	var inList, inStatus []string
	for _, row := range listed.Sequencers {
		inList = append(inList, row.Name)
		var holders wire.HoldersResponse
		if err := r.call(role, names, member, wire.PathHolders, wire.HoldersRequest{Name: row.Name}, &holders); err != nil {
			r.t.Fatal(err)
		}
		for _, h := range holders.Holders {
			if len(h.Holder) != 8 {
				r.t.Errorf("%s shows the holder %q of %s to a %s", member, h.Holder, row.Name, role)
			}
		}
	}
	for _, info := range status.Sequencers {
		inStatus = append(inStatus, info.Name)
	}
	if !slices.Equal(inList, want) || !slices.Equal(inStatus, want) {
		r.t.Errorf("%s shows %v and %v to a %s of %v", member, inList, inStatus, role, names)
	}
	var first wire.SequencersResponse
	if err := r.call(role, names, member, wire.PathSequencers, wire.SequencersRequest{Limit: 1}, &first); err != nil ||
		len(first.Sequencers) != 1 || first.Sequencers[0].Name != want[0] ||
		first.Next != "" && first.Next != want[0] || (first.Next != "") != (len(want) > 1) {
		r.t.Errorf("the first page of %s for a %s of %v: %+v, %v", member, role, names, first, err)
	}
}

// TestAuditNamesTheFirstCaller: an operator's call that a member passes on to the leader is
// audited there with the operator, whatever that says of itself.
func TestAuditNamesTheFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		leader := r.g.Leader()
		other := r.g.Running()[0]
		if other == leader {
			other = r.g.Running()[1]
		}
		disk, _, _ := strings.Cut(r.g.Member(other).Status().Answering, "-")
		forged := wire.Relay{AskedBy: "10.9.9.9:1 forged", Forwarded: true}
		for _, member := range []string{other, leader} {
			if err := r.call(security.Admin, nil, member, wire.PathForget, wire.ForgetRequest{Member: roster.MemberID(disk),
				Relay: forged}, &wire.ForgetResponse{}); errors.Is(err, security.ErrDenied) || err == nil {
				t.Errorf("by %s: %v", member, err)
			}
			if err := r.call(security.Holder, nil, member, wire.PathForget, wire.ForgetRequest{Member: roster.MemberID(disk),
				Relay: forged}, &wire.ForgetResponse{}); !errors.Is(err, security.ErrDenied) {
				t.Errorf("a holder, by %s: %v", member, err)
			}
		}
		lines := slices.DeleteFunc(r.log.of(t, "forget"),
			func(l auditLine) bool { return strings.Contains(l.Error, "needs the role admin") })
		if len(lines) != 2 {
			t.Errorf("the audit has %+v", lines)
		}
		for _, l := range lines {
			if l.Host != leader || !strings.Contains(l.Who, "role admin") || strings.Contains(l.Who, "forged") ||
				!strings.HasPrefix(l.Who, "10.0.0.") {
				t.Errorf("the audit has %+v, want the admin, at %s", l, leader)
			}
		}
	})
}

// TestCertificateWithoutTheName: a handle whose certificate is replaced by one without its name
// issues to the end of its grant, then says why it does not, and works again with a certificate
// that has the name. Another handle of the process is not affected.
func TestCertificateWithoutTheName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoles(t)
		web := r.client("web", security.Holder, "orders-*", "carts")
		lost, kept := r.handle(web, "orders-1"), r.handle(web, "carts")
		for range 20 { // renewed by sets
			time.Sleep(time.Second)
			r.next(lost)
		}
		own := r.g.Credentials(security.Holder, "orders-*", "carts").Dir
		before := r.certificate(own)
		r.replace(own, r.certificate(r.g.Credentials(security.Holder, "bills-*", "carts").Dir))
		until := lost.Stats().GrantUntil
		time.Sleep(until.Sub(gridtest.Now()) - 100*time.Millisecond)
		r.next(lost)
		time.Sleep(15 * time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := lost.Next(ctx); !errors.Is(err, security.ErrDenied) || !errors.Is(err, sequencer.ErrGrantExpired) ||
			!strings.Contains(err.Error(), "orders-1") {
			t.Errorf("without the name: %v", err)
		}
		if passed := time.Since(began); passed > 0 {
			t.Errorf("it took %v", passed)
		}
		r.next(kept)
		if lines := r.log.of(t, "renew"); len(lines) < 1 || len(lines) > 3 || lines[0].Name != "orders-1" ||
			lines[0].Result != "denied" {
			t.Errorf("the audit has %+v", lines)
		}
		r.replace(own, before)
		time.Sleep(20 * time.Second)
		r.next(lost)
		r.next(kept)
	})
}

// certificate is a holder's certificate and key.
func (r *roles) certificate(dir string) (out [2][]byte) {
	r.t.Helper()
	for i, name := range []string{"holder.crt", "holder.key"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			r.t.Fatal(err)
		}
		out[i] = text
	}
	return out
}

// replace replaces a holder's certificate, and breaks its connections once it is read.
func (r *roles) replace(dir string, by [2][]byte) {
	r.t.Helper()
	for i, name := range []string{"holder.crt", "holder.key"} {
		if err := os.WriteFile(filepath.Join(dir, name), by[i], 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	time.Sleep(11 * time.Second)
	r.g.Network.Break("web")
}

func (r *roles) handle(c *client.Client, name string) *sequencer.Sequencer {
	r.t.Helper()
	h, err := c.CreateSequencer(r.t.Context(), name, sequencer.Config{})
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func (r *roles) next(h *sequencer.Sequencer) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 20*time.Second) // the first grant of a grid begins later
	defer cancel()
	if _, err := h.Next(ctx); err != nil {
		r.t.Error(h.Name(), err)
	}
}

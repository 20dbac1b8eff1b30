package grid

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// serveSettings returns the settings of the grid, after it has changed them or has had the
// leader change them.
func (o *leadership) serveSettings(ctx context.Context, in wire.SettingsRequest) (wire.SettingsResponse, error) {
	var none wire.SettingsResponse
	if o.lone {
		if in.IsEmpty() {
			return o.settingsNow(ctx), nil
		}
		return none, failure.Errorf(wire.ErrNotNeeded,
			"grid: this member runs alone; change its configuration and start it again")
	}
	if in.IsEmpty() && o.raft.Node() != nil {
		return o.settingsNow(ctx), nil
	}
	return serveOperator(ctx, o, wire.PathSettings, &in,
		func() (wire.SettingsResponse, error) { return o.setSettings(ctx, in) })
}

// setSettings changes settings, at the leader.
func (o *leadership) setSettings(ctx context.Context, in wire.SettingsRequest) (wire.SettingsResponse, error) {
	before := wire.SettingsOf(o.state.Roster())
	request := leader.SettingsRequest{Backups: in.Backups, Window: in.Window, Voters: in.Voters, Expect: in.Expect,
		WindowStated: in.WindowStated, Quotas: in.Quotas, DropQuotas: in.DropQuotas, Upcoming: in.Upcoming}
	protocol, part, err := leader.NewsOfSettings(o.state.Roster(), request)
	if err = refusalOf(err); err == nil && protocol > o.state.Roster().InUse() {
		err = o.need(ctx, protocol, part)
	}
	if err == nil {
		err = o.atLead(ctx, func(machine *leader.Leader, v leader.View, reply func(error)) {
			machine.SetSettings(v, request, reply)
		})
	}
	changes := changesOf(in)
	o.audit.Write(audit.Entry{Action: audit.Settings, Name: before.Name, Who: in.AskedBy, Err: err},
		slog.String("set", changes))
	if err != nil {
		return wire.SettingsResponse{}, err
	}
	after := wire.SettingsOf(o.state.Roster())
	o.log.Warn("settings changed", "set", changes, "backups", after.Backups, "backups_before", before.Backups,
		"window", after.Window.Duration(),
		"window_before", before.Window.Duration(), "voters", after.Voters, "voters_before", before.Voters,
		"expect", after.Expect, "expect_before", before.Expect,
		"asked_by", fmt.Sprintf("%.100s", in.AskedBy), "call_from", api.RemoteOf(ctx))
	return o.settingsNow(ctx), nil
}

func changesOf(in wire.SettingsRequest) (out string) {
	if in.Backups != nil {
		out += fmt.Sprintf("backups=%d ", *in.Backups)
	}
	if in.Window != 0 {
		out += fmt.Sprintf("window=%v ", in.Window.Duration())
	}
	if in.Voters != 0 {
		out += fmt.Sprintf("voters=%d ", in.Voters)
	}
	if in.Expect != 0 {
		out += fmt.Sprintf("expect=%d ", in.Expect)
	}
	for _, edit := range in.Quotas {
		out += fmt.Sprintf("quota %.100s ", edit)
	}
	for _, p := range in.DropQuotas {
		out += fmt.Sprintf("quota %.100q removed ", string(p))
	}
	if out != "" {
		out = out[:len(out)-1]
	}
	return out
}

// useWait bounds an operator's wait for the use of quotas.
const useWait = time.Second

// settingsNow returns the grid's settings with the use of its quotas.
func (o *leadership) settingsNow(ctx context.Context) wire.SettingsResponse {
	r := o.state.Roster()
	out := wire.SettingsOf(r)
	out.Quotas = usedQuotas(ctx, o.host, r)
	return out
}

func usedQuotas(ctx context.Context, h *host.Host, r *roster.Roster) []wire.QuotaUse {
	out := wire.QuotasOf(r.Quotas)
	if len(out) == 0 {
		return out
	}
	ctx, cancel := context.WithTimeout(ctx, useWait)
	defer cancel()
	used := h.QuotaUse(ctx)
	for i := range out {
		if n, known := used[out[i].Pattern]; known {
			out[i].Used = &n
		}
	}
	return out
}

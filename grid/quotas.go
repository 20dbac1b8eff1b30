package grid

import (
	"context"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/host"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// useWait bounds an operator's wait for the use of quotas.
const useWait = time.Second

// settingsNow returns the grid's settings with the use of its quotas.
func (o *leadership) settingsNow(ctx context.Context) wire.SettingsResponse {
	r := o.state.Roster()
	out := wire.SettingsOf(r)
	out.Quotas = usedQuotas(ctx, o.host, r)
	return out
}

// usedQuotas returns a roster's quotas with their use.
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

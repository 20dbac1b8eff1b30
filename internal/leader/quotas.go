package leader

import (
	"slices"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
)

// quotasChange adds quota edits to a change: whole rows, and only rows that differ from the roster.
// Errors match [ErrBadRequest], and [ErrNotNow] if the row to remove does not exist.
func quotasChange(r *roster.Roster, in SettingsRequest, c *roster.Change) error {
	edited := map[spelling.Pattern]bool{}
	once := func(p spelling.Pattern) error {
		if edited[p] {
			return failure.Errorf(ErrBadRequest, "grid: quota %.80q: it is given twice; give each pattern once", string(p))
		}
		edited[p] = true
		return nil
	}
	for _, p := range in.DropQuotas {
		if err := once(p); err != nil {
			return err
		}
		if _, found := r.QuotaRow(p); !found {
			return failure.Errorf(ErrNotNow, "grid: quota %.80q: there is none with this pattern; snowgrid quota list has all",
				string(p))
		}
		c.DropQuotas = append(c.DropQuotas, p)
	}
	after := slices.DeleteFunc(slices.Clone(r.Quotas),
		func(q roster.Quota) bool { return slices.Contains(c.DropQuotas, q.Pattern) })
	for _, edit := range in.Quotas {
		if err := once(edit.Pattern); err != nil {
			return err
		}
		before, found := r.QuotaRow(edit.Pattern)
		row := edit.Of(before)
		if found && row == before {
			continue
		}
		if fault := spelling.Fault(string(edit.Pattern)); fault != "" && !found {
			return failure.Errorf(ErrBadRequest, "grid: quota %.80q: the pattern %s; leave it out", string(edit.Pattern), fault)
		}
		c.Quotas = append(c.Quotas, row)
		after = append(slices.DeleteFunc(after, func(q roster.Quota) bool { return q.Pattern == row.Pattern }), row)
	}
	slices.SortFunc(after, roster.CompareQuotas)
	if err := roster.CheckQuotas(after); err != nil {
		return failure.Errorf(ErrBadRequest, "grid: %w", err)
	}
	return nil
}

package roster

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/snowgrid/snowgrid/internal/spelling"
)

// Bounds on quotas. They are in the roster, which every member keeps in memory and copies as a
// whole.
const (
	MaxQuotas     = 64            // rows in one grid
	maxQuotaBytes = 8 << 10       // all patterns together
	MaxQuota      = 1_000_000_000 // each limit
)

// Quota limits holders' use of the sequencers that match a name pattern. 0 is no limit in this row.
// Only one of the rows that match a name applies; see [QuotaOf].
type Quota struct {
	Pattern spelling.Pattern `json:"pattern"`
	// Names is the maximum number of sequencers to which this row applies.
	Names int `json:"names,omitempty"`
	// HolderNodes is the maximum number of logical nodes in one sequencer for one holder, which is
	// one process.
	HolderNodes int `json:"holder_nodes,omitempty"`
	// PeerNodes is the maximum number of logical nodes in one sequencer for all holders with one
	// certificate or token together, or, without security, with one address.
	PeerNodes int `json:"peer_nodes,omitempty"`
	// Calls is the maximum number of calls per second about these sequencers that a member serves
	// for one certificate or token, or, without security, address.
	Calls int `json:"calls,omitempty"`
}

// QuotaEdit sets limits in a pattern's row; nil leaves a limit unchanged, and 0 in a new row.
type QuotaEdit struct {
	Pattern     spelling.Pattern `json:"pattern"`
	Names       *int             `json:"names,omitempty"`
	HolderNodes *int             `json:"holder_nodes,omitempty"`
	PeerNodes   *int             `json:"peer_nodes,omitempty"`
	Calls       *int             `json:"calls,omitempty"`
}

// String formats the edit for messages.
func (e QuotaEdit) String() string {
	out := fmt.Sprintf("%q", string(e.Pattern))
	for _, limit := range []struct {
		name string
		set  *int
	}{{"names", e.Names}, {"holder_nodes", e.HolderNodes}, {"peer_nodes", e.PeerNodes}, {"calls", e.Calls}} {
		if limit.set != nil {
			out += fmt.Sprintf(" %s=%d", limit.name, *limit.set)
		}
	}
	return out
}

// Of returns the row after the edit.
func (e QuotaEdit) Of(q Quota) Quota {
	q.Pattern = e.Pattern
	for limit, set := range map[*int]*int{&q.Names: e.Names, &q.HolderNodes: e.HolderNodes, &q.PeerNodes: e.PeerNodes,
		&q.Calls: e.Calls} {
		if set != nil {
			*limit = *set
		}
	}
	return q
}

// QuotaOf returns the index of the row that applies to a name, -1 for none: the matching row with
// the most literal bytes, and among equals the first by pattern. Rows are sorted by pattern.
func QuotaOf(rows []Quota, name string) int {
	best := -1
	for i, q := range rows {
		if q.Pattern.Matches(name) && (best < 0 || q.Pattern.Literal() > rows[best].Pattern.Literal()) {
			best = i
		}
	}
	return best
}

// Quota returns the row that applies to a name; the zero row sets no limits.
func (r *Roster) Quota(name string) Quota {
	if i := QuotaOf(r.Quotas, name); i >= 0 {
		return r.Quotas[i]
	}
	return Quota{}
}

// QuotaRow returns a pattern's row.
func (r *Roster) QuotaRow(p spelling.Pattern) (Quota, bool) {
	i, found := searchQuota(r.Quotas, p)
	if !found {
		return Quota{Pattern: p}, false
	}
	return r.Quotas[i], true
}

func searchQuota(rows []Quota, p spelling.Pattern) (int, bool) {
	return slices.BinarySearchFunc(rows, p, func(q Quota, p spelling.Pattern) int { return cmp.Compare(q.Pattern, p) })
}

// CompareQuotas orders rows by pattern, the order in a roster.
func CompareQuotas(a, b Quota) int { return cmp.Compare(a.Pattern, b.Pattern) }

// CheckQuotas returns the first error in a roster's quotas, as an [ErrInvalid].
func CheckQuotas(rows []Quota) error {
	if len(rows) > MaxQuotas {
		return invalidf("%d quotas; a grid has at most %d: remove one first", len(rows), MaxQuotas)
	}
	bytes := 0
	for i, q := range rows {
		if err := q.Check(); err != nil {
			return err
		}
		if i > 0 && rows[i-1].Pattern >= q.Pattern {
			return invalidf("quota %.80q is a duplicate or out of order", string(q.Pattern))
		}
		bytes += len(q.Pattern)
	}
	if bytes > maxQuotaBytes {
		return invalidf("the quota patterns have %d bytes in total; at most %d are allowed: remove one, or give shorter "+
			"patterns", bytes, maxQuotaBytes)
	}
	return nil
}

// Check returns the first error in a row, as an [ErrInvalid].
func (q Quota) Check() error {
	if len(q.Pattern) == 0 || !spelling.IsPlain(string(q.Pattern)) {
		return invalidf("quota pattern %.80q has %d bytes: give 1 to %d bytes of UTF-8 without control characters, such as "+
			"orders-*", string(q.Pattern),
			len(q.Pattern), spelling.PatternMax)
	}
	for _, limit := range []struct {
		name  string
		value int
	}{{"names", q.Names}, {"holder_nodes", q.HolderNodes}, {"peer_nodes", q.PeerNodes}, {"calls", q.Calls}} {
		if limit.value < 0 || limit.value > MaxQuota {
			return invalidf("quota %.80q: %s is %d; give 1 to %d, or 0 for no limit", string(q.Pattern), limit.name, limit.value,
				MaxQuota)
		}
	}
	return nil
}

// quotasAfter returns the quotas after a change: rows are set or replaced, others are
// removed.
func (r *Roster) quotasAfter(c Change) ([]Quota, error) {
	if len(c.Quotas)+len(c.DropQuotas) == 0 {
		return r.Quotas, nil
	}
	edited := map[spelling.Pattern]bool{}
	rows := slices.Clone(r.Quotas)
	for _, p := range c.DropQuotas {
		i, found := searchQuota(rows, p)
		if !found || edited[p] {
			return nil, refused("cannot remove quota %.80q: it does not exist", string(p))
		}
		edited[p] = true
		rows = slices.Delete(rows, i, i+1)
	}
	for _, q := range c.Quotas {
		if edited[q.Pattern] {
			return nil, refused("quota %.80q is edited twice", string(q.Pattern))
		}
		edited[q.Pattern] = true
		if i, found := searchQuota(rows, q.Pattern); found {
			rows[i] = q
		} else {
			rows = slices.Insert(rows, i, q)
		}
	}
	if err := CheckQuotas(rows); err != nil {
		return nil, refused("%v", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return rows, nil
}

package grid_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestAttackByCreatesOfIDs: creates by POST /v1/ids have the pace and the audit lines of their
// caller, at whichever member it asks.
func TestAttackByCreatesOfIDs(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		a := b.identified(security.Holder)
		const rate, atOnce = 25, 50 // of new sequencers, times the processors
		burst := atOnce * runtime.GOMAXPROCS(0)
		began := time.Now()
		for i := range burst + burst/2 {
			in := wire.IDsRequest{Name: fmt.Sprint("orders-x-", i), Create: &wire.IDsCreate{}}
			// Each owner has a pace of its own: the names are those of one.
			if b.g.OwnerOf(in.Name) != b.g.OwnerOf(victimName) {
				in.Name = nameOwnedBy(b, b.g.OwnerOf(victimName), i)
			}
			if err := a.Call(t.Context(), b.target(b.g.Running()[i%3]), wire.PathIDs, in); err != nil {
				t.Fatalf("create %d: %v", i, err)
			}
		}
		if took, least := time.Since(began),
			time.Second*time.Duration(burst/2)/time.Duration(rate*runtime.GOMAXPROCS(0)); took < least*9/10 {
			t.Errorf("%d creates took %v, and the pace of one certificate allows them in %v", burst+burst/2, took, least)
		}
		for who, n := range b.audit.creators(t) {
			if !strings.Contains(who, "role holder") {
				t.Errorf("%d creates are in the audit log as those of %s", n, who)
			}
		}
		b.ids.during(5*time.Second, "after the creates")
	})
}

// nameOwnedBy returns a name of the attacker's that a member owns, another one for each i.
func nameOwnedBy(b *besieged, owner string, i int) string {
	for n := 0; ; n++ {
		if name := fmt.Sprintf("orders-%d-%d", i, n); b.g.OwnerOf(name) == owner {
			return name
		}
	}
}

// creators counts the creates in the audit log by who made them.
func (l *auditLines) creators(t *testing.T) map[string]int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]int{}
	for line := range bytes.Lines(l.text.Bytes()) {
		var fields struct{ Msg, Action, Who string }
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if fields.Msg == "audit" && fields.Action == "create" {
			out[fields.Who]++
		}
	}
	return out
}

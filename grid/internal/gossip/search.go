package gossip

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/discovery"
)

const (
	// unresolvedAfter is for how long an entry does not lead to an address before the member reports it.
	unresolvedAfter = time.Minute
	// unresolvedMax limits the entries in a report.
	unresolvedMax = 16
	// searchShown limits the addresses, or the entries, in a text.
	searchShown = 3
)

type search struct {
	finder *discovery.Finder

	mu       sync.Mutex       // guards noAnswer
	noAnswer map[string]error // addresses without an answer in the last round
}

func (s *search) failed(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noAnswer[addr] != nil
}

// text returns a phrase that names the addresses that did not answer in the last round, with the error of
// the first, and the entries that do not lead to an address; "" for none.
func (s *search) text() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if addrs := slices.Sorted(maps.Keys(s.noAnswer)); len(addrs) > 0 {
		text = fmt.Sprintf("; no answer at %s (%s)", listed(addrs), dialError(addrs[0], s.noAnswer[addrs[0]]))
	}
	if unresolved := s.unresolved(0); len(unresolved) > 0 {
		text += "; not resolved: " + listed(unresolved)
	}
	return text
}

// unresolved returns the entries that have not led to an address for a time, with the errors, sorted.
func (s *search) unresolved(least time.Duration) (out []string) {
	for _, u := range s.finder.Unresolved() {
		if time.Since(u.Since) >= least {
			out = append(out, u.String())
		}
	}
	return out
}

func listed(all []string) string {
	more := ""
	if n := len(all) - searchShown; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(all[:min(len(all), searchShown)], ", ") + more
}

// Unresolved returns the configured entries that have not led to an address for a minute, with the errors,
// sorted; 16 at most.
func (g *Gossip) Unresolved() []string {
	if g == nil {
		return nil
	}
	all := g.search.unresolved(unresolvedAfter)
	return all[:min(len(all), unresolvedMax)]
}

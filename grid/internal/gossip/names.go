package gossip

import (
	"fmt"
	"strings"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const maxName = 63

const rememberedNames = 1024

// CheckName refuses a name that would not fit tables and log lines: it has 1 to maxName
// letters, digits, dots, hyphens and underscores.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%.80q has %d bytes; give 1 to %d", name, len(name), maxName)
	}
	if at := strings.IndexFunc(name, notInNames); at >= 0 {
		return fmt.Errorf("%q has %q in it; use letters, digits, dots, hyphens and underscores", name, name[at:at+1])
	}
	return nil
}

// NameOf returns a host name as a member's name, with a hyphen for each byte that has no
// place in one.
func NameOf(host string) string {
	name := strings.Map(func(r rune) rune {
		if notInNames(r) {
			return '-'
		}
		return r
	}, host)
	return name[:min(len(name), maxName)]
}

func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
}

// Name returns a current or past member's name, "" if unknown.
func (g *Gossip) Name(inc roster.Incarnation) string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.names[inc]
}

// MemberName returns the name of any incarnation of a current or past member, "" if unknown.
func (g *Gossip) MemberName(id roster.MemberID) string {
	if g == nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for inc, name := range g.names {
		if inc.Member() == id && name != "" {
			return name
		}
	}
	return ""
}

// Describe returns a member's incarnation, with its name if known.
func (g *Gossip) Describe(inc roster.Incarnation) string {
	if name := g.Name(inc); name != "" {
		return fmt.Sprintf("%s (%s)", name, inc)
	}
	return string(inc)
}

// Learn records a joining member's stated name: gossip may deliver it later.
func (g *Gossip) Learn(inc roster.Incarnation, name string) {
	if g == nil || CheckName(name) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.names[inc] == "" {
		g.remember(Peer{Incarnation: inc, Name: name})
	}
}

// remember keeps a member's name, also after its end. mu must be held.
func (g *Gossip) remember(p Peer) {
	if p.Name == "" || g.names[p.Incarnation] == p.Name {
		return
	}
	g.renamed++
	if _, known := g.names[p.Incarnation]; !known && len(g.names) >= rememberedNames+len(g.alive) {
		r := g.cfg.State.Roster()
		for inc := range g.names {
			if _, alive := g.alive[inc]; alive {
				continue
			}
			if _, member := r.Member(inc); !member {
				delete(g.names, inc)
			}
		}
	}
	g.names[p.Incarnation] = p.Name
}

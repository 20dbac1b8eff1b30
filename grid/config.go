package grid

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/clustertime"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/roster"
)

// NoBackups as Config.Backups keeps each partition's table at its owner alone.
const NoBackups = -1

// MaxBackups is the largest value of Config.Backups.
const MaxBackups = roster.MaxBackups

// Config has the settings of a member. The zero value is a lone
// member without listeners, for tests and for services that run as one process.
// Name, Backups, Partitions and Window are agreed in the grid: where they are
// left zero they are taken from it, and a different stated value is refused.
type Config struct {
	// Name is the grid's name; "" = that of the grid in DataDir, or "snowgrid".
	// Members of other grids are refused.
	Name string
	// GossipAddr, RaftAddr and APIAddr are where the member listens, host:port;
	// port 0 takes a free one. "" = 127.0.0.1 and port 7946, 7947, 7948.
	GossipAddr, RaftAddr, APIAddr string
	// AdvertiseHost is the host that others reach this member at; "" = the
	// host it listens at.
	AdvertiseHost string
	// Join are gossip addresses, host:port, of members to find the grid by; a
	// host or DNS name alone means port 7946. Names are re-resolved periodically.
	Join []string
	// Expect is the number of members that form a new grid together; 0 = 1 without Join,
	// else this member forms none and only joins.
	Expect int
	// Backups is the number of copies of each partition's table besides the
	// owner's; 0 = the grid's, or 1; NoBackups = none; at most MaxBackups.
	Backups int
	// Partitions is the number of slices of sequencer names; 0 = the grid's, or
	// 271.
	Partitions int
	// Window is the distance of the ceiling ahead of cluster time; 0 = the grid's, or
	// 15 s, or 3 s for a lone member. 1 s to 1 h.
	Window time.Duration
	// DataDir keeps the member's identity and its part of the roster across
	// restarts; "" = memory only.
	DataDir string
	// FirstLife states that no process holds a logical node of an earlier life
	// of this grid, so that a memory-only grid need not wait when it is formed. It
	// is true of one start at most: left in the configuration of a second one it
	// gives equal IDs while a holder of the first runs. For tests, and for programs
	// that know; each start warns of it.
	FirstLife bool
	// Floor is a time above which a new grid begins: it raises the first timestamp
	// and replaces no wait. Zero raises nothing; a grid that exists ignores it.
	Floor time.Time
	// Anchor keeps a limit of the grid's ceiling in a store outside the grid, in one
	// record for each grid name. Lives of the grid that know nothing of each other then
	// wait for one another instead of issuing equal IDs: a memory-only grid that lost
	// all its members, a grid restarted from older or copied data, two grids formed by
	// hand. A new grid does not wait either, and needs no FirstLife. Every member has
	// to have it. While the store does not answer, grants end at the ceiling as without
	// a majority. The store must not lose acknowledged writes. nil = none.
	Anchor store.Store
	// AnchorAhead is how far the limit is kept ahead of cluster time; it is written twice
	// in that time. A life that did not stop in order makes the next one wait for as
	// long at most. 0 = 30 s; never less than two windows, at most 1 h.
	AnchorAhead time.Duration
	// TLS, if not nil, is used on the Raft and API connections, both as server
	// and as client; set ClientCAs and ClientAuth in it for mutual TLS.
	TLS *tls.Config
	// GossipKey, 16, 24 or 32 bytes, encrypts the gossip; nil = clear text.
	GossipKey []byte
	// Logger receives events for the operator; nil = none.
	Logger *slog.Logger
	// Network and Clock are the member's way to others and its wall clock; nil
	// = the real ones. Tests set them; with either, cluster time is looked at for
	// each ID, as bubbles of testing/synctest need it.
	Network Network
	Clock   Clock

	unnamed bool // Name was left empty
}

// Ports that are taken when an address is left empty.
const (
	GossipPort = 7946
	RaftPort   = 7947
	APIPort    = 7948
)

// lone reports whether the configuration is that of a lone member: no address, no member to
// join, none expected, no data directory.
func (c Config) lone() bool {
	return c.GossipAddr == "" && c.RaftAddr == "" && c.APIAddr == "" &&
		len(c.Join) == 0 && c.Expect <= 1 && c.DataDir == ""
}

// withDefaults returns a copy with everything filled in that does not depend on
// the grid.
func (c Config) withDefaults() Config {
	if c.unnamed = c.Name == ""; c.unnamed {
		c.Name = "snowgrid"
	}
	if c.Expect == 0 && len(c.Join) == 0 {
		c.Expect = 1
	}
	for addr, port := range map[*string]int{&c.GossipAddr: GossipPort, &c.RaftAddr: RaftPort, &c.APIAddr: APIPort} {
		if *addr == "" {
			*addr = fmt.Sprintf("127.0.0.1:%d", port)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Network == nil {
		c.Network = transport.Sockets{}
	}
	if c.Clock == nil {
		c.Clock = realClock{}
	}
	c.Join = append([]string(nil), c.Join...)
	return c
}

// check refuses a configuration that cannot work. Errors match
// sequencer.ErrInvalidConfig and name the setting.
func (c Config) check() error {
	if c.Backups < NoBackups || c.Backups > MaxBackups {
		return refusal.Invalid("Backups is %d; give 0 for the grid's, NoBackups for none, or 1 to %d", c.Backups, MaxBackups)
	}
	if err := c.settings().Check(); err != nil {
		return refusal.Invalid("%v", err)
	}
	if c.Expect < 0 || c.Expect > 1000 {
		return refusal.Invalid("Expect is %d; give the number of members that form the grid, 1 to 1000, or 0", c.Expect)
	}
	if f := c.Floor; !f.IsZero() && (clustertime.TickOf(f) < 0 || clustertime.TickOf(f) > formation.LatestFloor) {
		return refusal.Invalid("Floor is %s; give a time from 1970 to 2099", f.Format(time.RFC3339))
	}
	if c.AnchorAhead < 0 || c.AnchorAhead > time.Hour || c.AnchorAhead > 0 && c.AnchorAhead < time.Second {
		return refusal.Invalid("AnchorAhead is %v; give 1 s to 1 h, or 0 for 30 s", c.AnchorAhead)
	}
	if c.AnchorAhead > 0 && c.Anchor == nil {
		return refusal.Invalid("AnchorAhead is %v and Anchor is nil; give the store, or omit it", c.AnchorAhead)
	}
	if n := len(c.GossipKey); n != 0 && n != 16 && n != 24 && n != 32 {
		return refusal.Invalid("GossipKey has %d bytes; give 16, 24 or 32", n)
	}
	addrs := map[string]string{"GossipAddr": c.GossipAddr, "RaftAddr": c.RaftAddr, "APIAddr": c.APIAddr}
	for setting, addr := range addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return refusal.Invalid("%s %q is not host:port (%v)", setting, addr, err)
		}
	}
	for _, addr := range c.Join {
		if _, _, err := net.SplitHostPort(addr); err != nil && (addr == "" || strings.ContainsAny(addr, ": ")) {
			return refusal.Invalid("Join address %q is not host:port or a host name (%v); give a member's gossip address", addr, err)
		}
	}
	return nil
}

// settings are the configuration's settings with every default filled in.
func (c Config) settings() roster.Settings {
	s := roster.Settings{
		Name: c.Name, Partitions: c.Partitions, Backups: c.Backups, Window: clustertime.SpanOf(c.Window),
	}
	if s.Partitions == 0 {
		s.Partitions = roster.DefaultPartitions
	}
	if c.Backups == 0 {
		s.Backups = roster.DefaultBackups
	}
	if c.Backups == NoBackups {
		s.Backups = 0
	}
	if c.Window == 0 {
		s.Window = roster.DefaultWindow
	}
	return s
}

// stated are only those settings that the configuration states.
func (c Config) stated() roster.Settings {
	s := roster.Settings{Name: c.Name, Partitions: c.Partitions, Backups: c.Backups, Window: clustertime.SpanOf(c.Window)}
	switch c.Backups {
	case 0:
		s.Backups = -1
	case NoBackups:
		s.Backups = 0
	}
	return s
}

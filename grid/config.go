package grid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/discovery"
	"github.com/snowgrid/snowgrid/grid/internal/formation"
	"github.com/snowgrid/snowgrid/grid/internal/gossip"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/grid/internal/transport"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/logqueue"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/security"
)

// NoBackups as Config.Backups keeps each partition's table at its owner alone.
const NoBackups = -1

// MaxBackups is the largest Config.Backups.
const MaxBackups = roster.MaxBackups

// GossipPace is the pace of gossip. A member probes one other in each Interval, and suspects it when
// neither it nor others for it answer. A suspected member that stays silent is removed Cycles
// intervals later, up to three times as many if Cycles is 3 or more, times log10 of the number of
// members beyond ten.
type GossipPace struct {
	Interval time.Duration // 100 ms to 60 s; 0 = 1 s
	Timeout  time.Duration // of a direct probe: 10 ms or more, less than Interval; 0 = half of Interval
	Cycles   int           // 1 to 100; 0 = as many as last a second
}

// Bounds for a GossipPace.
const (
	MinGossipInterval = gossip.MinInterval
	MaxGossipInterval = gossip.MaxInterval
	MinGossipTimeout  = gossip.MinTimeout
	MaxGossipCycles   = gossip.MaxCycles
)

// Config configures a member. The zero value is a lone member without listeners, for tests and for
// services that run as one process. Lone members are not coordinated: each takes a random logical
// node of a sequencer, so two that run at the same time issue equal IDs if they take the same one,
// once in 8,192 times with the default number of nodes. Name, Backups, Partitions, Voters and
// Window are agreed in the grid: zero means the grid's value, and a different value is rejected.
type Config struct {
	// Name is the grid's name; "" = the name in DataDir, or "snowgrid". Members of other grids are
	// rejected.
	Name string
	// MemberName is this member's name for people, in the status, the log and errors: at most
	// 63 letters, digits, dots, hyphens and underscores. Nothing else depends on it, and two
	// members may have the same. "" = the host name.
	MemberName string
	// GossipAddr, RaftAddr and APIAddr are the member's listen addresses, host:port; port 0 takes a
	// free one. "" = 127.0.0.1 and port 7946, 7947, 7948.
	GossipAddr, RaftAddr, APIAddr string
	// APIIdleTimeout closes an HTTP/1.1 connection to the API that has no request for this time, 20
	// s to 1 h; 0 = 90 s. It should be longer than the idle timeout of load balancers in front. A
	// member without room for a new connection closes the longest idle one after 20 s.
	APIIdleTimeout time.Duration
	// AdvertiseHost is the host that others reach this member at; "" = the
	// host it listens at.
	AdvertiseHost string
	// Join are entries to find members of the grid by, at most 256: the host:port of a
	// member's gossip, or a DNS name for members (port 7946 if it has none);
	// srv:_NAME._tcp.DOMAIN for SRV records; file:PATH for a file with one address or DNS
	// name a line. Names and files are resolved again every few seconds. See
	// docs/discovery.md.
	Join []string
	// Discover, if not nil, returns addresses by which to find members, besides Join: host:port or a DNS
	// name, at most 256. So members are found by a service registry or a cloud's API. It is called from
	// another goroutine, with a context of 5 s, each 5 s or so, and never twice at the same time. After an
	// error, or an entry that cannot be resolved, the last result stays, and the status names it.
	Discover func(context.Context) ([]string, error)
	// Gossip sets the interval at which members probe each other, and the silence after which a
	// member no longer counts as alive. The zero value detects a crash within about 2.5 s. All
	// members should have the same. Grants and ownership do not depend on it.
	Gossip GossipPace
	// Expect is the number of members that form a new grid together; 0 = 1 without Join and Discover,
	// else this member forms none and only joins.
	Expect int
	// Backups is the number of copies of each partition's table besides the
	// owner's; 0 = the grid's, or 1; NoBackups = none; at most MaxBackups.
	Backups int
	// Partitions is the number of slices of sequencer names; 0 = the grid's, or
	// 271.
	Partitions int
	// Voters is the number of members that vote on the roster, if there are enough: 1, 3, 5 or 7,
	// which survive the simultaneous loss of 0, 1, 2 or 3 voters; 0 = the grid's, or 3. A new grid
	// with 5 or 7 has 2 or 3 Backups unless Backups is set, since a partition that loses all its
	// copies makes its holders wait.
	Voters int
	// Zone names this member's failure domain, such as a rack or an
	// availability zone: at most 255 bytes; "" = none. Copies of a partition, and voters,
	// are in different zones as far as there are several.
	Zone string
	// Window is the distance of the ceiling ahead of cluster time; 0 = the grid's, or
	// 15 s, or 3 s for a lone member. 1 s to 1 h.
	Window time.Duration
	// DataDir keeps the member's identity and its part of the roster across
	// restarts; "" = memory only.
	DataDir string
	// Identity, if it names a set, gives the member a number that it keeps across restarts
	// with its DataDir, and its logical nodes back after a restart.
	Identity Identity
	// FirstLife asserts that no process holds a logical node from an earlier run of this grid, so
	// that a memory-only grid need not wait when it is formed. It is true for one start at most:
	// left in the configuration for a second one, it leads to equal IDs while a holder from the
	// first runs. For tests, and for programs that can be certain; each start logs a warning.
	FirstLife bool
	// Floor is a time above which a new grid begins: it raises the first timestamp
	// and replaces no wait. Zero raises nothing; a grid that exists ignores it.
	Floor time.Time
	// Anchor keeps a limit for the grid's ceiling in a store outside the grid, in one record per
	// grid name. Uncoordinated runs of the grid then wait for one another instead of issuing equal
	// IDs: a memory-only grid that lost all its members, a grid restarted from older or copied
	// data, two grids formed by hand. A new grid does not wait either, and needs no FirstLife.
	// Every member has to have it. While the store does not answer, grants end at the ceiling as
	// without a majority. The store must not lose acknowledged writes. nil = none.
	Anchor store.Store
	// AnchorAhead is the lead of the limit over cluster time; the leader writes it twice in that
	// time. After a run that did not stop cleanly, the next run waits for this time, and half as long
	// again if a clock was ahead: a member that is restarted earlier begins that wait again. 0 = 30
	// s; never less than two windows, at most 1 h.
	AnchorAhead time.Duration
	// Debug serves paths on the API by which a program on this machine looks into gossip
	// (state-info), pauses gossip, Raft and calls between members, and ends the member; see
	// docs/http.md. For tests of a grid, not for production.
	Debug bool
	// Security has this member's credentials and the authorities that it trusts: a directory made
	// by `snowgrid secure init`, or files, or a tls.Config; and a gossip key. Files are watched, so
	// certificates and keys are replaced without a restart. nil = clear text, for loopback
	// addresses; clear text on others has to be stated by Security.Insecure. See package security.
	Security *security.Config
	// Logger receives events for the operator; nil = none, but for the warning of a lone
	// member, which slog.Default receives then.
	Logger *slog.Logger
	// Trace, if not nil, is called at the beginning of each create, attach, renew and failover of the member's
	// own handles, as client.Config.Trace is, and of each request for IDs over HTTP, as ids. That one has the
	// attributes sequencer and, if the request has a W3C trace context, traceparent and tracestate. nil = none.
	Trace func(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, func(error))
	// Network and Clock are the member's way to others and its wall clock; nil
	// = the real ones. Tests set them; with either, cluster time is looked at for
	// each ID, as bubbles of testing/synctest need it.
	Network Network
	Clock   Clock

	unnamed bool // Name was left empty
}

// Identity is the set that a process has its number in: 1, 2, 3 and so on.
type Identity struct {
	Cluster string // distinguishes sets with the same name; "" = the grid's name
	Set     string // "" = no number
}

// Limits for Config.APIIdleTimeout.
const (
	minAPIIdle = 20 * time.Second
	maxAPIIdle = time.Hour
)

// Ports that are taken when an address is left empty.
const (
	GossipPort = 7946
	RaftPort   = 7947
	APIPort    = 7948
)

// lone reports whether the configuration describes a lone member: no address, no member to join,
// none expected, no data directory.
func (c Config) lone() bool {
	return c.GossipAddr == "" && c.RaftAddr == "" && c.APIAddr == "" && c.DataDir == "" &&
		len(c.Join) == 0 && c.Discover == nil && c.Expect <= 1
}

// seeds returns the entries to find members by, for messages.
func (c Config) seeds() []string {
	if c.Discover == nil {
		return c.Join
	}
	return append(slices.Clone(c.Join), discovery.LookupEntry)
}

// withDefaults returns a copy with everything filled in that does not depend on
// the grid.
func (c Config) withDefaults() Config {
	if c.unnamed = c.Name == ""; c.unnamed {
		c.Name = "snowgrid"
	}
	if c.Expect == 0 && len(c.Join) == 0 && c.Discover == nil {
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
	c.Logger = logqueue.Logger(c.Logger)
	if c.Network == nil {
		c.Network = transport.Sockets{}
	}
	if c.Clock == nil {
		c.Clock = realClock{}
	}
	if host, err := os.Hostname(); c.MemberName == "" && err == nil {
		c.MemberName = gossip.NameOf(host)
	}
	if host := c.AdvertiseHost; strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		c.AdvertiseHost = host[1 : len(host)-1] // an IPv6 address, as in host:port
	}
	c.Join = append([]string(nil), c.Join...)
	return c
}

// Check returns the error that [Start] returns for a configuration that cannot work, before it
// begins. It starts nothing and looks at no directory, store or network. Errors match
// [sequencer.ErrInvalidConfig], and begin with the field's name; several mistakes are joined by
// [errors.Join].
func (c Config) Check() error { return c.withDefaults().check() }

// check refuses a configuration that cannot work, with every mistake. Errors match
// sequencer.ErrInvalidConfig and name the setting.
func (c Config) check() error {
	return errors.Join(slices.Concat(c.checkSettings(), c.checkLimits(), c.checkAddresses(),
		[]error{c.checkSecurity()})...)
}

// checkSettings returns the mistakes in names and settings that the grid agrees on.
func (c Config) checkSettings() (faults []error) {
	refuse := func(format string, args ...any) { faults = append(faults, refusal.Invalid(format, args...)) }
	if c.Backups < NoBackups || c.Backups > MaxBackups {
		refuse("Backups is %d; give 0 for the grid's, NoBackups for none, or 1 to %d", c.Backups, MaxBackups)
	}
	if c.Partitions < 0 || c.Partitions > roster.MaxPartitions {
		refuse("Partitions is %d; give 1 to %d, or 0 for the grid's", c.Partitions, roster.MaxPartitions)
	}
	if least, most := roster.MinWindow.Duration(), roster.MaxWindow.Duration(); c.Window != 0 &&
		(c.Window < least || c.Window > most) {
		refuse("Window is %v; give %v to %v, or 0 for the grid's", c.Window, least, most)
	} else if c.Window%time.Millisecond != 0 {
		refuse("Window is %v; give whole milliseconds", c.Window)
	}
	if !roster.IsVoters(c.Voters) {
		refuse("Voters is %d; give 1, 3, 5 or 7, or 0 for the grid's", c.Voters)
	}
	if err := (roster.Member{Incarnation: formation.NewIncarnation("0000000000000000"),
		Zone: c.Zone}).Check(); err != nil {
		refuse("Zone is %.40q; give at most 255 bytes of UTF-8 without control characters, or nothing", c.Zone)
	} else if fault := spelling.Fault(c.Zone); fault != "" {
		refuse("Zone %.40q %s; leave it out", c.Zone, fault)
	}
	if err := (Config{Name: c.Name}).settings().Check(); err != nil {
		refuse("Name: %v", err)
	} else if fault := spelling.FaultOfGrid(c.Name); fault != "" {
		refuse("Name %.40q %s; omit it from a grid's name", c.Name, fault)
	}
	if err := gossip.CheckName(c.MemberName); err != nil && c.MemberName != "" {
		refuse("MemberName: %v", err)
	}
	if err := c.Identity.set().Check(c.DataDir); err != nil {
		refuse("Identity: %v", err)
	}
	return faults
}

// checkLimits returns the mistakes in numbers and times that are this member's own.
func (c Config) checkLimits() (faults []error) {
	refuse := func(format string, args ...any) { faults = append(faults, refusal.Invalid(format, args...)) }
	if c.Expect < 0 || c.Expect > roster.MaxExpect {
		refuse("Expect is %d; give the number of members that form the grid, 1 to %d, or 0", c.Expect, roster.MaxExpect)
	}
	if f := c.Floor; !f.IsZero() && (clustertime.TickOf(f) < 0 || clustertime.TickOf(f) > formation.LatestFloor) {
		refuse("Floor is %s; give a time from 1970 to 2099", f.Format(time.RFC3339))
	}
	if t := c.APIIdleTimeout; t != 0 && (t < minAPIIdle || t > maxAPIIdle) {
		refuse("APIIdleTimeout is %v; give %v to %v, or 0 for %v", t, minAPIIdle, maxAPIIdle, api.DefaultIdle)
	}
	if c.AnchorAhead < 0 || c.AnchorAhead > time.Hour || c.AnchorAhead > 0 && c.AnchorAhead < time.Second {
		refuse("AnchorAhead is %v; give 1 s to 1 h, or 0 for 30 s", c.AnchorAhead)
	} else if c.AnchorAhead > 0 && c.Anchor == nil {
		refuse("AnchorAhead is %v and Anchor is not set; give the store, or omit it", c.AnchorAhead)
	}
	return append(faults, gossip.Pace(c.Gossip).Check())
}

// checkAddresses returns the mistakes in the listen addresses and in the addresses to join.
func (c Config) checkAddresses() (faults []error) {
	taken := map[string]string{}
	for _, listener := range []struct{ setting, addr string }{{"GossipAddr", c.GossipAddr}, {"RaftAddr", c.RaftAddr},
		{"APIAddr", c.APIAddr}} {
		_, port, err := net.SplitHostPort(listener.addr)
		if err != nil {
			faults = append(faults, refusal.Invalid("%s %q is not host:port (%v)", listener.setting, listener.addr, err))
		} else if _, err := net.LookupPort("tcp", port); err != nil {
			faults = append(faults, refusal.Invalid("%s %q is not host:port: the port is %.20q; give 0 to 65535",
				listener.setting, listener.addr, port))
		} else if other := taken[listener.addr]; other != "" && port != "0" {
			faults = append(faults, refusal.Invalid("%s %q is the address of %s too; give each listener its own port",
				listener.setting, listener.addr, other))
		}
		taken[listener.addr] = listener.setting
	}
	if ip, err := netip.ParseAddr(c.AdvertiseHost); err == nil && (ip.IsUnspecified() || ip.IsMulticast()) {
		faults = append(faults, refusal.Invalid("AdvertiseHost %q is the address of no machine; "+
			"give the host by which other members reach this one, or omit it", c.AdvertiseHost))
	} else if _, port, err := net.SplitHostPort(c.AdvertiseHost); err == nil {
		faults = append(faults, refusal.Invalid("AdvertiseHost %q has the port %q; give the host alone, "+
			"since each listener has its own port", c.AdvertiseHost, port))
	} else if c.AdvertiseHost != "" && !discovery.IsHost(c.AdvertiseHost) {
		faults = append(faults, refusal.Invalid("AdvertiseHost %.300q is neither an IP nor a host name; "+
			"give the host by which other members reach this one, or omit it", c.AdvertiseHost))
	}
	if err := discovery.Check(c.Join); err != nil {
		faults = append(faults, refusal.Invalid("Join %v", err))
	}
	return faults
}

// settings are the configuration's settings with every default filled in.
func (c Config) settings() roster.Settings {
	s := roster.Settings{
		Name: c.Name, Partitions: c.Partitions, Backups: c.Backups, Window: clustertime.SpanOf(c.Window),
		Voters: roster.StoredVoters(c.Voters), Expect: c.Expect,
	}
	if s.Partitions == 0 {
		s.Partitions = roster.DefaultPartitions
	}
	if c.Backups == 0 {
		s.Backups = max(roster.DefaultBackups, c.Voters/2) // as many failures as the voters survive
	}
	if c.Backups == NoBackups {
		s.Backups = 0
	}
	if c.Window == 0 {
		s.Window = roster.DefaultWindow
	}
	return s
}

// stated returns only the settings that the configuration sets.
func (c Config) stated() roster.Settings {
	s := roster.Settings{Name: c.Name, Partitions: c.Partitions, Backups: c.Backups, Window: clustertime.SpanOf(c.Window),
		Voters: c.Voters}
	switch c.Backups {
	case 0:
		s.Backups = -1
	case NoBackups:
		s.Backups = 0
	}
	return s
}

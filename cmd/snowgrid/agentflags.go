package main

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// agentFlags holds the agent's flags in groups. A field XY is the flag --x-y, the variable SNOWGRID_X_Y
// and the configuration key x-y. After a change: a row in keyRows of keys_test.go, and go run
// ./cmd/snowgrid config reference > docs/configuration-keys.md.
type agentFlags struct {
	settingsFlags
	MemberName string `help:"Name of this member for people, in the status and the log: at most 63 letters, digits, dots, hyphens and underscores. Default: the host name." env:"SNOWGRID_MEMBER_NAME" placeholder:"NAME"`
	Voters     int    `help:"Members that vote on the roster, if there are as many: 1, 3, 5 or 7. 5 survive two simultaneous failures; a new grid then has 2 backups. Default: the grid's setting, or 3." env:"SNOWGRID_VOTERS" placeholder:"COUNT"`
	Zone       string `help:"Place of this member that fails as one, such as a rack or an availability zone. Copies and voters are spread over zones. Default: none." env:"SNOWGRID_ZONE" placeholder:"NAME"`
	addressFlags
	gossipFlags
	Debug bool `help:"Serve /membership/debug/ to this machine: the state of gossip, and ways to pause or end the member. For tests." env:"SNOWGRID_DEBUG"`
	storageFlags
	IdentityCluster string `help:"Cluster of the set of the member's number, which tells sets of one name apart. Default: the grid's name." env:"SNOWGRID_IDENTITY_CLUSTER" placeholder:"NAME"`
	IdentitySet     string `help:"Set in which the member has a number, 1, 2, 3 and so on, that it keeps in its data directory. After a restart it gets its earlier logical nodes back. Default: none, no number." env:"SNOWGRID_IDENTITY_SET" placeholder:"NAME"`
	floorFlags
	anchorFlags
	opsFlags
	securityFlags
	logFlags

	LeaveTimeout time.Duration `help:"Time limit for leaving the grid after the first signal." default:"20s" env:"SNOWGRID_LEAVE_TIMEOUT"`
}

// checkUse refuses flags that mean nothing as they were given.
func (a *agentFlags) checkUse(s *sources) error {
	err := a.floorFlags.checkUse(s)
	if len(a.Join) == 0 && s.origins["join"].source == fromFlag { // a script's list is empty: this would form a new grid
		err = errors.Join(err, badValue("join", "", "the list is empty; give HOST:PORT, or omit it to join no member"))
	}
	return err
}

// config returns the member's configuration, or every mistake in it that a start would refuse.
func (a *agentFlags) config(logger *slog.Logger) (grid.Config, error) {
	cfg, faults := a.fields(logger)
	if err := errors.Join(faults, a.checkConfig(cfg)); err != nil {
		return grid.Config{}, err
	}
	return cfg, nil
}

// fields returns the configuration that the flags state, and each flag whose value cannot work.
//
// A group's apply method sets the fields that need a check, and returns each value that cannot
// work, naming its flag. The fields of these have values without a mistake then, so that each has one
// message. No group has a Validate method: methods of embedded structs hide each other, and kong then
// calls none.
func (a *agentFlags) fields(logger *slog.Logger) (grid.Config, error) {
	cfg := grid.Config{
		Logger: logger, MemberName: a.MemberName, Voters: a.Voters, Zone: a.Zone, DataDir: a.DataDir, Debug: a.Debug,
		Gossip:   grid.GossipPace{Interval: a.GossipInterval, Timeout: a.GossipTimeout, Cycles: a.GossipCycles},
		Identity: grid.Identity{Cluster: a.IdentityCluster, Set: a.IdentitySet},
	}
	err := errors.Join(a.settingsFlags.apply(&cfg), a.addressFlags.apply(&cfg), a.floorFlags.apply(&cfg),
		a.anchorFlags.apply(&cfg), a.opsFlags.check(), a.securityFlags.apply(&cfg),
		checkTimeout("leave-timeout", a.LeaveTimeout))
	return cfg, err
}

// checkConfig refuses a configuration with which the agent would not start.
func (a *agentFlags) checkConfig(cfg grid.Config) error {
	reach := a.checkReach(cfg)
	_, files := a.checkFiles(cfg)
	if reach != nil || files != nil { // the grid refuses them as well, by the names in its configuration
		cfg.Security = &security.Config{Insecure: true}
	}
	return errors.Join(reach, cfg.Check(), files)
}

// addressFlags holds the member's addresses and the addresses that it joins.
type addressFlags struct {
	GossipAddr     string        `help:"Listen address for gossip between members (TCP and UDP). This and the next three may have a template: {{ GetPrivateIP }}:7946." default:"127.0.0.1:7946" env:"SNOWGRID_GOSSIP_ADDR"`
	RaftAddr       string        `help:"Listen address for Raft (TCP)." default:"127.0.0.1:7947" env:"SNOWGRID_RAFT_ADDR"`
	APIAddr        string        `name:"api-addr" help:"Listen address of the API, for clients and other members (HTTP)." default:"127.0.0.1:7948" env:"SNOWGRID_API_ADDR"`
	APIIdleTimeout time.Duration `name:"api-idle-timeout" help:"How long a connection of HTTP/1.1 to the API may be without a request: longer than the idle time-out of load balancers in front of it. Default: 90s." env:"SNOWGRID_API_IDLE_TIMEOUT" placeholder:"DURATION"`
	AdvertiseHost  string        `help:"Host by which other members reach this one, if it differs from the listen address." env:"SNOWGRID_ADVERTISE_HOST" placeholder:"HOST"`
	Join           []string      `help:"Where to find other members: addresses or DNS names of their gossip, srv:_NAME._tcp.DOMAIN, or file:PATH with one address a line." env:"SNOWGRID_JOIN" placeholder:"HOST:PORT"`
}

func (f *addressFlags) apply(cfg *grid.Config) error {
	var faults []error
	for _, to := range []struct {
		flag, value string
		expand      func(flag, value string) (string, error)
		field       *string
	}{
		{"gossip-addr", f.GossipAddr, expandAddr, &cfg.GossipAddr},
		{"raft-addr", f.RaftAddr, expandAddr, &cfg.RaftAddr},
		{"api-addr", f.APIAddr, expandAddr, &cfg.APIAddr},
		{"advertise-host", f.AdvertiseHost, expandHost, &cfg.AdvertiseHost},
	} {
		value, err := to.expand(to.flag, to.value)
		*to.field, faults = value, append(faults, err)
	}
	cfg.Join, cfg.APIIdleTimeout = f.Join, f.APIIdleTimeout
	return errors.Join(faults...)
}

// gossipFlags set the pace at which members probe each other.
type gossipFlags struct {
	GossipInterval time.Duration `help:"How often the member probes another one: 100ms to 60s. Default: 1s." env:"SNOWGRID_GOSSIP_INTERVAL" placeholder:"DURATION"`
	GossipTimeout  time.Duration `help:"Time for the answer to a probe, less than the interval. Default: half of it." env:"SNOWGRID_GOSSIP_TIMEOUT" placeholder:"DURATION"`
	GossipCycles   int           `help:"Intervals for which a suspected member may be silent before it is removed: 1 to 100. Default: as many as last a second." env:"SNOWGRID_GOSSIP_CYCLES" placeholder:"COUNT"`
}

type storageFlags struct {
	DataDir string `help:"Directory for identity, Raft log and definitions. Default: none, memory only." env:"SNOWGRID_DATA_DIR" placeholder:"DIR"`
}

// makeDir makes the data directory, and refuses a path that cannot be one or that this process must not write. Other
// faults are of the disk, which the start reports.
func (f *storageFlags) makeDir() error {
	if f.DataDir == "" {
		return nil
	}
	err := os.MkdirAll(f.DataDir, 0o700)
	if err == nil {
		var probe *os.File
		if probe, err = os.CreateTemp(f.DataDir, ".writable-*"); err == nil {
			err = errors.Join(probe.Close(), os.Remove(probe.Name()))
		}
	}
	for _, of := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ENOTDIR, syscall.EROFS} {
		if errors.Is(err, of) {
			return badValue("data-dir", f.DataDir,
				"cannot be used: %v; give a directory that this process's user can read and write", err)
		}
	}
	return nil
}

// anchorFlags name the store outside the grid that limits its ceiling.
type anchorFlags struct {
	Anchor      string        `help:"Store of the record that limits the grid's ceiling, for all members the same: file:DIR. Lives of the grid that know nothing of each other wait for one another then. Default: none." env:"SNOWGRID_ANCHOR" placeholder:"file:DIR"`
	AnchorAhead time.Duration `help:"Distance of the anchor's limit ahead of cluster time. Default: 30s, or two windows." env:"SNOWGRID_ANCHOR_AHEAD" placeholder:"DURATION"`

	// open opens a store's directory, nil for store.OpenFile.
	open func(dir string) (store.Store, error)
}

// apply opens the anchor's store.
func (f *anchorFlags) apply(cfg *grid.Config) error {
	dir, isFile := strings.CutPrefix(f.Anchor, "file:")
	switch {
	case f.Anchor == "":
		cfg.AnchorAhead = f.AnchorAhead // refused without an anchor
		return nil
	case !isFile || dir == "":
		return badValue("anchor", f.Anchor,
			"give file:DIR; only a program that embeds a member can set other stores (grid.Config.Anchor)")
	}
	open := f.open
	if open == nil {
		open = func(dir string) (store.Store, error) { return store.OpenFile(dir) }
	}
	s, err := open(dir)
	if err != nil {
		return badValue("anchor", f.Anchor, "%s", sentence(err))
	}
	cfg.Anchor, cfg.AnchorAhead = s, f.AnchorAhead
	return nil
}

// settingsFlags state the settings that the grid agrees on, and the number of members that
// form it.
type settingsFlags struct {
	Name       string        `help:"Name of the grid. Default: the name in the data directory, or snowgrid." env:"SNOWGRID_NAME" placeholder:"NAME"`
	Expect     int           `help:"Number of members that form a new grid. Omit it to join an existing grid." env:"SNOWGRID_EXPECT" placeholder:"COUNT"`
	Backups    *int          `help:"Backups of each partition: 0 for none, 1 to 32767. Default: the grid's setting, or 1." env:"SNOWGRID_BACKUPS" placeholder:"COUNT"`
	Partitions int           `help:"Number of partitions. Default: the grid's setting, or 271." env:"SNOWGRID_PARTITIONS" placeholder:"COUNT"`
	Window     time.Duration `help:"Distance of the ceiling ahead of cluster time. Default: the grid's setting, or 15s." env:"SNOWGRID_WINDOW" placeholder:"DURATION"`
}

// apply sets the settings. Among flags 0 backups means none and an absent flag means unset,
// so a negative number is a mistake.
func (f *settingsFlags) apply(cfg *grid.Config) error {
	cfg.Name, cfg.Expect, cfg.Partitions, cfg.Window = f.Name, f.Expect, f.Partitions, f.Window
	switch {
	case f.Backups == nil: // 0 in cfg
	case *f.Backups == 0:
		cfg.Backups = grid.NoBackups
	case *f.Backups < 0 || *f.Backups > grid.MaxBackups:
		return badValue("backups", *f.Backups,
			"give 0 for none, 1 to %d for as many backups, or omit it to use the grid's setting", grid.MaxBackups)
	default:
		cfg.Backups = *f.Backups
	}
	return nil
}

// securityFlags are the member's keys and certificates. Secrets have the tag secret:
// their values are not printed, and no file that any user may change can set them.
type securityFlags struct {
	credentialFlags

	GossipKeys string `help:"File with the keys of the gossip in base64, one a line, of which the first encrypts. Default: gossip.keys in --security-dir." env:"SNOWGRID_GOSSIP_KEYS" placeholder:"FILE"`
	TokenKeys  string `help:"File with the public keys that tokens are checked with, in PEM. Default: tokens.pub in --security-dir." env:"SNOWGRID_TOKEN_KEYS" placeholder:"FILE"`
	Insecure   bool   `help:"Listen beyond this machine without certificates or without a gossip key: any process that reaches the addresses can end the grid." env:"SNOWGRID_INSECURE"`
	GossipKey  string `help:"Key that encrypts the gossip, the same for all members: 16, 24 or 32 random bytes in base64. Prefer SNOWGRID_GOSSIP_KEY_FILE or the file to the flag, which other users of the machine see. Default: none, clear text." env:"SNOWGRID_GOSSIP_KEY" placeholder:"BASE64" secret:""`
}

func (f *securityFlags) apply(cfg *grid.Config) error {
	secured, err := f.security()
	if secured != nil && secured.Dir == "" && secured.CertFile == "" {
		secured, err = nil, badValue("tls-ca", f.TLSCA,
			"a member has no certificate; give --tls-cert and --tls-key as well, or --security-dir")
	}
	faults := []error{err}
	insecure := f.Insecure || err != nil
	switch {
	case secured != nil:
		secured.Role, secured.GossipKeysFile, secured.TokensFile = security.Member, f.GossipKeys, f.TokenKeys
	case err == nil:
		faults = append(faults, needsCertificates("gossip-keys", f.GossipKeys), needsCertificates("token-keys", f.TokenKeys))
	}
	var key []byte
	if f.GossipKey != "" {
		raw, err := base64.StdEncoding.DecodeString(f.GossipKey)
		if err == nil && security.CheckGossipKey(raw) == nil {
			key = raw
		} else {
			faults = append(faults, badValue("gossip-key", "",
				"this is not a key; give 16, 24 or 32 random bytes in base64, such as from openssl rand -base64 32"))
		}
	}
	if secured == nil && (insecure || key != nil) {
		secured = &security.Config{}
	}
	if secured != nil {
		secured.Insecure, secured.GossipKey = insecure, key
	}
	cfg.Security = secured
	return errors.Join(faults...)
}

// opsFlags set the listener for operators: health checks, metrics and profiles.
type opsFlags struct {
	OpsAddr string `help:"Listen address for /metrics, /livez and /readyz (HTTP), without TLS: bind it where only the monitoring reaches it. Default: none." env:"SNOWGRID_OPS_ADDR" placeholder:"HOST:PORT"`
	Pprof   bool   `help:"Serve profiles of the process at /debug/pprof/ of --ops-addr, which has to be a loopback address then." env:"SNOWGRID_PPROF"`
}

// check refuses profiles that others than this machine could read.
func (f *opsFlags) check() error {
	if f.OpsAddr == "" {
		if f.Pprof {
			return badValue("pprof", f.Pprof,
				"it requires a listener; give --ops-addr with a loopback address, such as 127.0.0.1:7949")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(f.OpsAddr)
	if err != nil {
		return badValue("ops-addr", f.OpsAddr, "not host:port (%v); give an address such as 127.0.0.1:7949", err)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return badValue("ops-addr", f.OpsAddr, "the port is %.20q; give 0 to 65535", port)
	}
	if f.Pprof && !wire.IsLoopback(f.OpsAddr) {
		return badValue("ops-addr", f.OpsAddr,
			"with --pprof it must be a loopback address, because profiles expose the process's memory; give 127.0.0.1:PORT, "+
				"or omit --pprof")
	}
	return nil
}

type logFlags struct {
	LogLevel  slog.Level `help:"Lowest level that is logged: debug, info, warn or error." default:"info" env:"SNOWGRID_LOG_LEVEL"`
	LogFormat string     `help:"Log format: text or json." enum:"text,json" default:"text" env:"SNOWGRID_LOG_FORMAT"`
}

// logger returns a logger that writes to stderr, and the level, which may be changed.
func (f *logFlags) logger(to streams) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(f.LogLevel)
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to.err, options)), level
	}
	return slog.New(slog.NewTextHandler(to.err, options)), level
}

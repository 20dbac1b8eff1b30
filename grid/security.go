package grid

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/token"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// credentials are a member's certificates and keys, for as long as it runs.
type credentials struct {
	*security.Credentials // nil: clear text
	gossipKey             []byte
	log                   *slog.Logger
	refusals              api.Refusals // of this member's certificate, or of others by it
}

// security returns the configured certificates and keys, nil for a member in clear text.
func (c Config) security() *security.Config {
	if c.Security == nil || inClear(*c.Security) {
		return nil
	}
	return c.Security
}

// inClear reports whether s configures a member without certificates: Insecure or a gossip key, and
// nothing else.
func inClear(s security.Config) bool {
	return (s.Insecure || len(s.GossipKey) > 0) && s.Dir == "" && s.CertFile == "" && s.KeyFile == "" && s.CAFile == "" &&
		s.TLS == nil && s.GossipKeysFile == "" && s.TokensFile == "" && s.Token == "" && len(s.Rules) == 0
}

// gossipKey returns the configured key of the gossip, nil for none.
func (c Config) gossipKey() []byte {
	if c.Security == nil {
		return nil
	}
	return c.Security.GossipKey
}

// insecure reports whether the member may listen beyond loopback without certificates or keys.
func (c Config) insecure() bool { return c.Security != nil && c.Security.Insecure }

// checkSecurity rejects contradictory settings for certificates and keys.
func (c Config) checkSecurity() error {
	if n := len(c.gossipKey()); n != 0 && n != 16 && n != 24 && n != 32 {
		return refusal.Invalid("Security.GossipKey has %d bytes; give 16, 24 or 32", n)
	}
	conf := c.security()
	if setting, addr := c.beyondLoopback(); conf == nil && setting != "" && !c.insecure() {
		return refusal.Invalid("%s %q is reachable from other machines, and Security is not set: give certificates and a "+
			"gossip key (`snowgrid secure init` makes a directory with both), or set Security.Insecure on a fully trusted "+
			"network", setting, addr)
	}
	if conf == nil {
		return nil
	}
	if err := conf.Check(); err != nil {
		return refusal.Invalid("Security: %v", err)
	}
	if conf.TLS != nil && conf.TLS.ClientCAs == nil {
		return refusal.Invalid(
			"Security.TLS has no ClientCAs, so no other member could prove its identity; set the grid's authorities")
	}
	if conf.Dir == "" && conf.GossipKeysFile == "" && len(c.gossipKey()) == 0 {
		return c.clearGossip()
	}
	return nil
}

// beyondLoopback returns the first address that can be reached from other machines, and its
// setting; "" if there is none. An address that is not host:port does not count: it is refused.
func (c Config) beyondLoopback() (setting, addr string) {
	for _, a := range []struct{ setting, addr string }{{"GossipAddr", c.GossipAddr}, {"RaftAddr", c.RaftAddr},
		{"APIAddr", c.APIAddr}} {
		if _, _, err := net.SplitHostPort(a.addr); err == nil && !wire.IsLoopback(a.addr) {
			return a.setting, a.addr
		}
	}
	return "", ""
}

// isExposed reports whether other machines reach a listener without authentication.
func (c Config) isExposed(keyed bool) bool {
	setting, _ := c.beyondLoopback()
	return setting != "" && c.security() == nil || !keyed && !wire.IsLoopback(c.GossipAddr)
}

// loadCredentials reads the certificates and keys that a configuration names.
func loadCredentials(cfg Config) (*credentials, error) {
	c := &credentials{gossipKey: cfg.gossipKey(), log: cfg.Logger}
	conf := cfg.security()
	if conf == nil {
		return c, nil // checkSecurity allows it
	}
	if conf.Grid == "" && !cfg.unnamed {
		of := *conf
		of.Grid, conf = cfg.Name, &of
	}
	loaded, err := security.Load(*conf, security.Member)
	if err != nil {
		return nil, refusal.Invalid("Security: %v", err)
	}
	if len(cfg.gossipKey()) > 0 && len(loaded.GossipKeys()) > 0 {
		_, _, file, _ := loaded.Files()
		return nil, refusal.Invalid("Security.GossipKey is set, and %s has keys, too; omit it", file)
	}
	c.Credentials = loaded
	if len(c.gossipKeys()) == 0 {
		return c, cfg.clearGossip()
	}
	return c, nil
}

// credentialsOf reads the configured certificates and keys. Without a configured grid name it takes
// the name in the certificate.
func credentialsOf(cfg *Config) (*credentials, error) {
	c, err := loadCredentials(*cfg)
	if err != nil {
		return nil, err
	}
	if of := c.grid(); cfg.unnamed && of != "" {
		cfg.Name = of
	}
	return c, nil
}

// grid returns the name of the grid that the certificate is for, "" if it names none.
func (c *credentials) grid() string {
	if c.Credentials == nil {
		return ""
	}
	return c.Grid()
}

// clearGossip refuses a gossip without a key that other machines reach.
func (c Config) clearGossip() error {
	if c.insecure() || !c.isExposed(false) {
		return nil
	}
	return refusal.Invalid("GossipAddr %q is reachable from other machines, and Security has neither a GossipKey nor "+
		"gossip.keys: give a key (`snowgrid secure init` makes a file with one), or set Security.Insecure on a fully "+
		"trusted network", c.GossipAddr)
}

// gossipKeys returns the gossip keys; the first one encrypts; nil = clear text.
func (c *credentials) gossipKeys() [][]byte {
	if len(c.gossipKey) > 0 {
		return [][]byte{c.gossipKey}
	}
	if c.Credentials == nil {
		return nil
	}
	return c.GossipKeys()
}

// tokens returns the checker for callers' tokens; nil in clear text, without authentication.
func (c *credentials) tokens() api.Tokens {
	if c.Credentials == nil {
		return nil
	}
	return token.NewVerifier(c.Credentials)
}

// expiry returns when this member's certificate ends, or its authority if that is first; zero
// if there is none.
func (c *credentials) expiry() time.Time {
	if c.Credentials == nil {
		return time.Time{}
	}
	own, above := c.Expiry(), c.AuthorityExpiry()
	if own.IsZero() || !above.IsZero() && above.Before(own) {
		return above
	}
	return own
}

// because adds to err, the reason that the member takes no part in its grid, that this member's certificate is not
// valid now, or that a certificate ended its last calls to others: gossip, which has keys of its own, shows these.
func (c *credentials) because(err error) error {
	if text := cmp.Or(c.invalidText(), c.refusals.Last()); err != nil && text != "" {
		return fmt.Errorf("%w; %s", err, text)
	}
	return err
}

// invalidText returns a sentence about this member's certificate if it has ended or is not valid yet, "" while
// it is valid.
func (c *credentials) invalidText() string {
	if c.Credentials == nil {
		return ""
	}
	now, ends := c.Now(), c.expiry()
	if begins := c.ValidFrom(); begins.After(now) {
		return fmt.Sprintf("this member's certificate is valid from %s, and its clock shows %s: set the clock",
			begins.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if ends.IsZero() || ends.After(now) {
		return ""
	}
	what, advice := c.endingPart()
	return fmt.Sprintf("this member's %s ended at %s: %s; if it is earlier than that now, set the clock", what,
		ends.UTC().Format(time.RFC3339), advice)
}

// endingPart returns the part whose end expiry returns, with the remedy.
func (c *credentials) endingPart() (what, advice string) {
	if own := c.Expiry(); own.IsZero() || c.expiry().Before(own) {
		return "authority", "make a new authority with `snowgrid secure rotate`: no restart is needed"
	}
	return "certificate",
		"issue a new certificate with `snowgrid secure issue`, and replace its files: no restart is needed"
}

// warnEvery is the interval of log lines about a certificate that ends soon, or has ended.
const warnEvery = 24 * time.Hour

// warnOfExpiry logs each day that the certificate, or its authority, ends soon, and when it has ended.
func (c *credentials) warnOfExpiry(ctx context.Context) {
	if c.Credentials == nil {
		return
	}
	for ctx.Err() == nil {
		changed := c.Changed()
		ends := c.expiry()
		left, wait := ends.Sub(c.Now()), warnEvery
		what, advice := c.endingPart()
		switch {
		case ends.IsZero():
		case left > certificateWithin:
			wait = left - certificateWithin
		case left > 0:
			c.log.Warn("certificate ends soon", "of", what, "certificate_expires", ends.UTC(), "days_left",
				int(left.Hours()/24), "advice", advice)
			wait = min(warnEvery, left+time.Second)
		default:
			c.log.Error("certificate ended", "of", what, "certificate_expires", ends.UTC(), "advice", advice)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// ReloadSecurity reads certificates and keys again, and reports whether anything has changed.
// It happens every few seconds without it. After an error the earlier ones stay in use.
func (m *Member) ReloadSecurity() (changed bool, err error) {
	if m.creds.Credentials == nil {
		return false, nil
	}
	if changed, err = m.creds.Reload(); changed {
		m.creds.logReloaded()
	}
	return changed, err
}

// watch follows changes of the files until ctx ends, and logs them.
func (c *credentials) watch(ctx context.Context) {
	if c.Credentials == nil {
		return
	}
	c.Watch(ctx, func(err error) {
		if err != nil {
			c.log.Warn("credentials not reloaded", "error", err.Error(), "advice",
				"the member continues with the earlier ones; correct the files, which are read again every few seconds")
			return
		}
		c.logReloaded()
	})
}

func (c *credentials) logReloaded() {
	c.log.Info("credentials reloaded", "generation", c.Generation(), "certificate_expires", c.Expiry(), "gossip_keys",
		len(c.GossipKeys()))
}

package grid

import (
	"context"
	"log/slog"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/security/token"
)

// credentials are a member's certificates and keys, for as long as it runs.
type credentials struct {
	*security.Credentials // nil: clear text
	gossipKey             []byte
	log                   *slog.Logger
}

// security returns the configuration of certificates and keys, nil for none.
func (c Config) security() *security.Config {
	if c.Security == nil && c.TLS != nil {
		return &security.Config{TLS: c.TLS}
	}
	return c.Security
}

// checkSecurity refuses settings of certificates and keys that contradict each other.
func (c Config) checkSecurity() error {
	if n := len(c.GossipKey); n != 0 && n != 16 && n != 24 && n != 32 {
		return refusal.Invalid("GossipKey has %d bytes; give 16, 24 or 32", n)
	}
	if c.TLS != nil && c.Security != nil {
		return refusal.Invalid("TLS and Security are both set; give one of them")
	}
	conf := c.security()
	if conf == nil {
		return nil
	}
	if err := conf.Check(); err != nil {
		return refusal.Invalid("Security: %v", err)
	}
	if conf.TLS != nil && conf.TLS.ClientCAs == nil {
		return refusal.Invalid("TLS has no ClientCAs, so that no other member could prove its identity; set the authorities of the grid")
	}
	return nil
}

// loadCredentials reads the certificates and keys that a configuration names.
func loadCredentials(cfg Config) (*credentials, error) {
	c := &credentials{gossipKey: cfg.GossipKey, log: cfg.Logger}
	conf := cfg.security()
	if conf == nil {
		return c, nil
	}
	loaded, err := security.Load(*conf, security.Member)
	if err != nil {
		return nil, refusal.Invalid("Security: %v", err)
	}
	if len(cfg.GossipKey) > 0 && len(loaded.GossipKeys()) > 0 {
		_, _, file, _ := loaded.Files()
		return nil, refusal.Invalid("GossipKey is set, and %s has keys, too; omit GossipKey", file)
	}
	c.Credentials = loaded
	return c, nil
}

// gossipKeys returns the keys of the gossip, of which the first encrypts; nil = clear text.
func (c *credentials) gossipKeys() [][]byte {
	if len(c.gossipKey) > 0 {
		return [][]byte{c.gossipKey}
	}
	if c.Credentials == nil {
		return nil
	}
	return c.GossipKeys()
}

// tokens returns what checks tokens of callers; nil in clear text, where callers prove nothing.
func (c *credentials) tokens() api.Tokens {
	if c.Credentials == nil {
		return nil
	}
	return token.NewVerifier(c.Credentials)
}

// expiry returns when this member's certificate ends; zero if there is none.
func (c *credentials) expiry() time.Time {
	if c.Credentials == nil {
		return time.Time{}
	}
	return c.Expiry()
}

// ReloadSecurity reads certificates and keys again, and reports whether anything has changed.
// It happens every few seconds without it. After an error the earlier ones stay in use.
func (m *Member) ReloadSecurity() (changed bool, err error) {
	if m.creds.Credentials == nil {
		return false, nil
	}
	return m.creds.Reload()
}

// watch follows changes of the files until ctx ends, and logs them.
func (c *credentials) watch(ctx context.Context) {
	if c.Credentials == nil {
		return
	}
	c.Watch(ctx, func(err error) {
		if err != nil {
			c.log.Warn("credentials not reloaded", "error", err.Error(), "advice", "the member continues with the earlier ones; correct the files, which are read again every few seconds")
			return
		}
		c.log.Info("credentials reloaded", "generation", c.Generation(), "certificate_expires", c.Expiry(), "gossip_keys", len(c.GossipKeys()))
	})
}

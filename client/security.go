package client

import (
	"context"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// credentials returns the configured credentials, nil for clear text.
func (c Config) credentials() (*security.Credentials, error) {
	if c.Security == nil {
		return nil, nil
	}
	creds, err := security.Load(*c.Security, security.NoRole)
	if err != nil {
		return nil, failure.Errorf(sequencer.ErrInvalidConfig, "client: Security: %w", err)
	}
	return creds, nil
}

// watchCredentials reloads changed files until ctx ends.
func (c *Client) watchCredentials(ctx context.Context, creds *security.Credentials) {
	creds.Watch(ctx, func(err error) {
		if err != nil {
			c.log.Warn("credentials not reloaded", "error", err.Error(), "advice", "connections continue with the earlier ones")
			return
		}
		c.log.Info("credentials reloaded", "certificate_expires", creds.Expiry())
	})
}

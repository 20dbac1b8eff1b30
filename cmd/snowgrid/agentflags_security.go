package main

import (
	"encoding/base64"
	"errors"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/security"
)

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
	faults := []error{err}
	cfg.Security, cfg.Insecure = secured, f.Insecure || err != nil
	switch {
	case secured != nil:
		secured.Role, secured.GossipKeysFile, secured.TokensFile = security.Member, f.GossipKeys, f.TokenKeys
	case err == nil:
		faults = append(faults, needsCertificates("gossip-keys", f.GossipKeys), needsCertificates("token-keys", f.TokenKeys))
	}
	if f.GossipKey != "" {
		raw, err := base64.StdEncoding.DecodeString(f.GossipKey)
		if err != nil || security.CheckGossipKey(raw) != nil {
			err = badValue("gossip-key", "",
				"this is not a key; give 16, 24 or 32 random bytes in base64, such as from openssl rand -base64 32")
		}
		cfg.GossipKey, faults = raw, append(faults, err)
		if err != nil {
			cfg.GossipKey = nil
		}
	}
	return errors.Join(faults...)
}

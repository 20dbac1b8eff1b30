package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// checkReach refuses a member that other machines reach without having to prove anything. The
// grid refuses it as well, by the names in its configuration.
func (f *securityFlags) checkReach(cfg grid.Config) error {
	if cfg.Security != nil && cfg.Security.Insecure {
		return nil
	}
	for _, listener := range []struct{ flag, addr string }{
		{"gossip-addr", cfg.GossipAddr}, {"raft-addr", cfg.RaftAddr}, {"api-addr", cfg.APIAddr},
	} {
		_, _, err := net.SplitHostPort(listener.addr)
		switch {
		case err != nil || wire.IsLoopback(listener.addr): // the grid refuses the former
		case !f.isSet():
			return badValue(listener.flag, listener.addr,
				"other machines reach it, and the member has no certificates, so any process there could end the grid; "+
					"run snowgrid secure init --out DIR and give --security-dir DIR, or give --insecure if every machine on the "+
					"network is trusted")
		case !f.hasGossipKeys(cfg.Security):
			return badValue(listener.flag, listener.addr, "other machines reach the member, and its gossip has no key; "+
				"give --gossip-keys FILE with a key that all members have (snowgrid secure init makes one), or --insecure if "+
				"every machine on the network is trusted")
		}
	}
	return nil
}

// hasGossipKeys reports whether the gossip is encrypted. A directory without the file of keys
// has none.
func (f *securityFlags) hasGossipKeys(cfg *security.Config) bool {
	if f.GossipKey != "" || cfg.GossipKeysFile != "" {
		return true
	}
	if cfg.Dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(cfg.Dir, security.GossipKeysFile))
	return err == nil
}

// checkFiles reads a member's certificates and keys as its start does.
func (f *securityFlags) checkFiles(cfg grid.Config) (*security.Credentials, error) {
	if c := cfg.Security; c == nil || c.Dir == "" && c.CertFile == "" && c.CAFile == "" {
		return nil, nil // in clear text, or the flags have faults
	}
	if _, err := f.checkModes(); err != nil {
		return nil, err
	}
	conf := *cfg.Security
	if conf.Grid == "" {
		conf.Grid = cfg.Name
	}
	creds, err := security.Load(conf, security.Member)
	if err != nil {
		return nil, f.fault(err)
	}
	if len(cfg.Security.GossipKey) > 0 && len(creds.GossipKeys()) > 0 {
		_, _, file, _ := creds.Files()
		return nil, badValue("gossip-key", "", "%s has gossip keys as well; omit this setting", file)
	}
	return creds, nil
}

// checkModes refuses private keys that every user of the host can read, and warns of keys that the group may change.
func (f *securityFlags) checkModes() ([]string, error) {
	warnings, err := authority.CheckModes(f.secretFiles()...)
	if err != nil {
		return nil, f.fault(err)
	}
	return warnings, nil
}

// secretFiles returns a member's files with private keys.
func (f *securityFlags) secretFiles() []string {
	out := []string{f.TLSKey, f.GossipKeys}
	if f.SecurityDir != "" {
		out = append(out, filepath.Join(f.SecurityDir, string(security.Member)+".key"),
			filepath.Join(f.SecurityDir, security.GossipKeysFile))
	}
	return slices.DeleteFunc(out, func(name string) bool { return name == "" })
}

// fault gives an error about certificates and keys to the flag that names them.
func (f *securityFlags) fault(err error) error {
	key, value := "security-dir", f.SecurityDir
	if f.TLSCert != "" {
		key, value = "tls-cert", f.TLSCert
	} else if f.SecurityDir == "" {
		key, value = "tls-ca", f.TLSCA
	}
	return badValue(key, value, "%s", sentence(err))
}

// securityWarnings checks a member's certificates and keys, and returns warnings about valid but weak
// or ageing ones. An expired certificate is an error.
func (f *securityFlags) securityWarnings(cfg grid.Config) ([]string, error) {
	creds, err := f.checkFiles(cfg)
	if creds == nil || err != nil {
		return nil, err
	}
	now := time.Now()
	certificate, _, _, _ := creds.Files()
	if ends := creds.Expiry(); !ends.IsZero() && ends.Before(now) {
		return nil, f.fault(fmt.Errorf("the certificate in %s ended at %s; issue it again with snowgrid secure issue",
			certificate, ends.UTC().Format(time.RFC3339)))
	}
	var out []string
	if ends := creds.Expiry(); !ends.IsZero() && ends.Sub(now) < authority.WarnBefore && f.SecurityDir == "" {
		out = append(out, fmt.Sprintf("warning: %s: it ends at %s: renew it", certificate, ends.UTC().Format(time.RFC3339)))
	}
	if f.SecurityDir != "" {
		contents, err := authority.Inspect(f.SecurityDir, now)
		if err != nil {
			return nil, f.fault(err)
		}
		out = append(out, warningsIn(contents)...)
	}
	for _, file := range []string{f.TLSKey, f.GossipKeys} {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
			out = append(out, fmt.Sprintf("warning: other users may read %s (%v): run chmod 600 %s", file,
				info.Mode().Perm(), file))
		}
	}
	return out, nil
}

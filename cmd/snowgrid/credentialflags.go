package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/snowgrid/snowgrid/security"
)

// credentialFlags sets this process's identity and the members it trusts. The agent and all
// commands that call members have them. Both read keys tagged shared from the configuration file.
type credentialFlags struct {
	SecurityDir   string `help:"Directory with certificates and keys, made by snowgrid secure init or secure issue. Default: none, clear text." env:"SNOWGRID_SECURITY_DIR" placeholder:"DIR" shared:""`
	TLSCert       string `name:"tls-cert" help:"Certificate of this process with its chain in PEM, by your own PKI. It replaces that of --security-dir." env:"SNOWGRID_TLS_CERT" placeholder:"FILE" shared:""`
	TLSKey        string `name:"tls-key" help:"Private key of --tls-cert in PEM." env:"SNOWGRID_TLS_KEY" placeholder:"FILE" shared:""`
	TLSCA         string `name:"tls-ca" help:"Certificates of the authorities that are trusted, in PEM." env:"SNOWGRID_TLS_CA" placeholder:"FILE" shared:""`
	TLSServerName string `name:"tls-server-name" help:"DNS name that the certificates of all members have, checked in place of the host that is called. Default: member.snowgrid with --security-dir, else the host." env:"SNOWGRID_TLS_SERVER_NAME" placeholder:"NAME" shared:""`
	IdentityRules string `help:"File with the roles of certificates of your own PKI, one rule a line: PATTERN ROLE [NAMES], such as subject:CN=web-* holder orders-*. The first rule that matches counts. Default: the role in the certificate." env:"SNOWGRID_IDENTITY_RULES" placeholder:"FILE" shared:""`
}

func (f *credentialFlags) isSet() bool {
	return f.SecurityDir != "" || f.TLSCert != "" || f.TLSKey != "" || f.TLSCA != ""
}

// security returns the configuration that the flags state; nil for none. It reads the rules,
// and no other file.
func (f *credentialFlags) security() (*security.Config, error) {
	if !f.isSet() {
		return nil, errors.Join(needsCertificates("tls-server-name", f.TLSServerName),
			needsCertificates("identity-rules", f.IdentityRules))
	}
	var files error
	switch {
	case f.TLSCert != "" && f.TLSKey == "":
		files = badValue("tls-cert", f.TLSCert, "its private key is missing; give --tls-key as well")
	case f.TLSKey != "" && f.TLSCert == "":
		files = badValue("tls-key", f.TLSKey, "its certificate is missing; give --tls-cert as well")
	case f.TLSCert != "" && f.TLSCA == "" && f.SecurityDir == "":
		files = badValue("tls-cert", f.TLSCert, "the trusted authorities are missing; give --tls-ca as well")
	}
	cfg := &security.Config{
		Dir: f.SecurityDir, CertFile: f.TLSCert, KeyFile: f.TLSKey, CAFile: f.TLSCA, ServerName: f.TLSServerName,
	}
	var rules error
	if f.IdentityRules != "" {
		if cfg.Rules, rules = readRules(f.IdentityRules); rules != nil {
			rules = badValue("identity-rules", f.IdentityRules, "%s", sentence(rules))
		}
	}
	if err := errors.Join(files, rules); err != nil {
		return nil, err
	}
	return cfg, nil
}

// needsCertificates refuses a value that means nothing without certificates.
func needsCertificates(flag, value string) error {
	if value == "" {
		return nil
	}
	return badValue(flag, value, "it requires certificates; give --security-dir, or --tls-cert, --tls-key and --tls-ca")
}

type callerFlags struct {
	Role  string `help:"Role whose certificate in --security-dir is used: admin, holder, reader or member. Default: the first of these that is there." env:"SNOWGRID_ROLE" placeholder:"ROLE"`
	Token string `help:"Token of snowgrid secure token, in place of a certificate. Prefer SNOWGRID_TOKEN_FILE or SNOWGRID_TOKEN to the flag, which other users of the machine see." env:"SNOWGRID_TOKEN" placeholder:"TOKEN" secret:""`
}

type accessFlags struct {
	credentialFlags
	callerFlags
}

// checkRole refuses a role that no certificate has.
func checkRole(role string) error {
	if role != "" && !slices.Contains(security.Roles(), security.Role(role)) {
		return badValue("role", role, "give admin, holder, reader or member")
	}
	return nil
}

// security returns the configuration that the flags of a command state; nil for none.
func (f *accessFlags) security() (*security.Config, error) {
	cfg, err := f.credentialFlags.security()
	switch {
	case err != nil:
		return nil, err
	case checkRole(f.Role) != nil:
		return nil, checkRole(f.Role)
	case cfg == nil && f.Token != "":
		return nil, badValue("token", "",
			"it requires the authority that verifies members, or it could be sent to any server; give --tls-ca, or "+
				"--security-dir")
	case cfg == nil && f.Role != "":
		return nil, badValue("role", f.Role, "it requires certificates; give --security-dir")
	case cfg == nil:
		return nil, nil
	case f.Token != "" && f.Role != "":
		return nil, badValue("role", f.Role, "a token has its own role; omit one of the two")
	}
	cfg.Token = f.Token
	cfg.Role = security.Role(f.Role)
	if cfg.Dir != "" && cfg.Role == security.NoRole && cfg.Token == "" && cfg.CertFile == "" {
		cfg.Role = certificateIn(cfg.Dir)
	}
	return cfg, nil
}

// certificateIn returns the role whose certificate in a directory commands use. A member's is there where a command
// runs next to an agent.
func certificateIn(dir string) security.Role {
	for _, role := range []security.Role{security.Admin, security.Holder, security.Reader, security.Member} {
		if _, err := os.Stat(filepath.Join(dir, string(role)+".crt")); !errors.Is(err, fs.ErrNotExist) {
			return role
		}
	}
	return security.NoRole
}

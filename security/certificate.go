package security

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
)

// MemberServerName is a DNS name that every certificate of the role member has. Processes
// check it in place of the host that they dial, so that a certificate holds wherever its
// member runs.
const MemberServerName = "member.snowgrid"

// URIs of a certificate that states its role and names: spiffe://snowgrid/role/ROLE and, for
// each pattern, spiffe://snowgrid/names/PATTERN, escaped.
const (
	uriScheme   = "spiffe"
	uriHost     = "snowgrid"
	rolePrefix  = "/role/"
	namesPrefix = "/names/"
)

// URIs returns those of a certificate for a role, limited to names if there are any.
func URIs(r Role, names []Pattern) []*url.URL {
	out := []*url.URL{{Scheme: uriScheme, Host: uriHost, Path: rolePrefix + string(r)}}
	for _, n := range names {
		out = append(out, &url.URL{Scheme: uriScheme, Host: uriHost, Path: namesPrefix + string(n), RawPath: namesPrefix + url.PathEscape(string(n))})
	}
	return out
}

// Rule gives a role to the certificates of an authority that knows nothing of this project.
type Rule struct {
	// Match is compared with "subject:" and the distinguished name (RFC 2253),
	// "dns:", "email:", "ip:" and "uri:" and each alternative name; * stands for any bytes.
	Match Pattern
	Role  Role
	Names []Pattern // empty = all
}

// Check refuses a rule that cannot work.
func (r Rule) Check() error {
	kind, _, _ := strings.Cut(string(r.Match), ":")
	switch kind {
	case "subject", "dns", "email", "ip", "uri":
	default:
		return fmt.Errorf("%w: rule %.80q: give subject:, dns:, email:, ip: or uri: and a pattern", ErrInvalid, string(r.Match))
	}
	if _, err := ParseRole(string(r.Role)); err != nil {
		return err
	}
	for _, n := range r.Names {
		if err := CheckPattern(n); err != nil {
			return err
		}
	}
	return nil
}

// identities are the texts of a certificate that rules are compared with.
func identities(c *x509.Certificate) []string {
	out := []string{"subject:" + c.Subject.String()}
	for _, n := range c.DNSNames {
		out = append(out, "dns:"+n)
	}
	for _, n := range c.EmailAddresses {
		out = append(out, "email:"+n)
	}
	for _, n := range c.IPAddresses {
		out = append(out, "ip:"+n.String())
	}
	for _, n := range c.URIs {
		out = append(out, "uri:"+n.String())
	}
	return out
}

// Identity returns the peer that a certificate makes, without a check of the certificate.
func Identity(c *x509.Certificate, rules []Rule) Peer { return peerOf(c, rules) }

// peerOf returns the peer of a verified certificate: by the first rule that matches, or by
// the URIs in the certificate. Without either the peer has no role.
func peerOf(c *x509.Certificate, rules []Rule) Peer {
	sum := sha256.Sum256(c.Raw)
	p := Peer{Name: c.Subject.CommonName, ID: "cert:" + hex.EncodeToString(sum[:8]), Expires: c.NotAfter}
	for _, rule := range rules {
		for _, id := range identities(c) {
			if rule.Match.Matches(id) {
				p.Role, p.Names = rule.Role, rule.Names
				return p
			}
		}
	}
	for _, u := range c.URIs {
		if u.Scheme != uriScheme || u.Host != uriHost {
			continue
		}
		if r, found := strings.CutPrefix(u.Path, rolePrefix); found {
			role, err := ParseRole(r)
			if err != nil || p.Role != NoRole && p.Role != role {
				return Peer{Name: p.Name, ID: p.ID, Expires: p.Expires} // it states no role, or two
			}
			p.Role = role
		}
		if n, found := strings.CutPrefix(u.Path, namesPrefix); found {
			p.Names = append(p.Names, Pattern(n))
		}
	}
	return p
}

package security

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MemberServerName is a DNS name in every member certificate. Processes verify it instead of the
// host that they dial, so that a certificate stays valid wherever its member runs.
const MemberServerName = "member.snowgrid"

// URIs in a certificate that declares its role and names: spiffe://snowgrid/role/ROLE and, for each
// pattern, spiffe://snowgrid/names/PATTERN, escaped.
const (
	uriScheme   = "spiffe"
	uriHost     = "snowgrid"
	rolePrefix  = "/role/"
	namesPrefix = "/names/"
	gridPrefix  = "/grid/"
)

const maxGrid = 255 // bytes in a grid name

// CheckGrid rejects a name that a grid cannot have.
func CheckGrid(name string) error {
	if name == "" || len(name) > maxGrid || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%w: grid %.80q has %d bytes; give 1 to %d bytes of UTF-8 without control characters, the name "+
			"of the agents (--name)", ErrInvalid, name, len(name), maxGrid)
	}
	return nil
}

// GridURI returns the URI by which a certificate names its grid.
func GridURI(name string) *url.URL {
	return &url.URL{Scheme: uriScheme, Host: uriHost, Path: gridPrefix + name, RawPath: gridPrefix + url.PathEscape(name)}
}

// GridOf returns the grid that a certificate names, "" for none.
func GridOf(c *x509.Certificate) string {
	for _, u := range c.URIs {
		if name, found := strings.CutPrefix(u.Path, gridPrefix); found && isOwn(u) {
			return name
		}
	}
	return ""
}

// URIs returns the URIs in a certificate for a role, limited to names if there are any.
func URIs(r Role, names []Pattern) []*url.URL {
	out := []*url.URL{{Scheme: uriScheme, Host: uriHost, Path: rolePrefix + string(r)}}
	for _, n := range names {
		out = append(out, &url.URL{Scheme: uriScheme, Host: uriHost, Path: namesPrefix + string(n),
			RawPath: namesPrefix + url.PathEscape(string(n))})
	}
	return out
}

// Rule assigns a role to certificates from an authority outside this project.
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
		return fmt.Errorf("%w: rule %.80q: give subject:, dns:, email:, ip: or uri: and a pattern", ErrInvalid,
			string(r.Match))
	}
	if _, err := ParseRole(string(r.Role)); err != nil {
		return err
	}
	return CheckNames(r.Role, r.Names)
}

// CheckNames refuses patterns that a role may not be limited to, and malformed ones.
func CheckNames(r Role, names []Pattern) error {
	if len(names) > 0 && (r == Admin || r == Member) {
		return fmt.Errorf("%w: names %q for the role %s, which acts on the whole grid; give none, or the role holder",
			ErrInvalid, names, r)
	}
	for _, n := range names {
		if err := CheckPattern(n); err != nil {
			return err
		}
	}
	return nil
}

// identities returns a certificate's texts that rules are compared with.
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

// Identity returns the peer identified by a certificate, without verifying the certificate: from the first matching
// rule or, without rules, from the URIs in the certificate. A certificate that declares no role, or has an
// unrecognized declaration, produces a peer without a role.
func Identity(c *x509.Certificate, rules []Rule) Peer {
	sum := sha256.Sum256(c.Raw)
	p := Peer{Name: c.Subject.CommonName, ID: "cert:" + hex.EncodeToString(sum[:8]), Expires: c.NotAfter, Grid: GridOf(c)}
	for _, rule := range rules {
		for _, id := range identities(c) {
			if rule.Match.Matches(id) {
				p.Role, p.Names = rule.Role, rule.Names
				return p
			}
		}
	}
	if len(rules) > 0 {
		return p
	}
	role, names, err := stated(c.URIs)
	if err != nil {
		return p
	}
	p.Role, p.Names = role, names
	return p
}

// errStated means that a certificate contains an unrecognized declaration.
var errStated = errors.New("not understood")

// stated returns the role and names declared in a certificate's URIs. A misspelled limit must not
// produce a certificate without a limit: any unrecognized URI in this project's form is an error.
func stated(uris []*url.URL) (role Role, names []Pattern, err error) {
	grid := ""
	for _, u := range uris {
		if !strings.EqualFold(u.Scheme, uriScheme) || !strings.EqualFold(u.Hostname(), uriHost) {
			continue
		}
		r, isRole := strings.CutPrefix(u.Path, rolePrefix)
		n, isNames := strings.CutPrefix(u.Path, namesPrefix)
		g, isGrid := strings.CutPrefix(u.Path, gridPrefix)
		switch {
		case !isOwn(u):
			return NoRole, nil, errStated
		case isRole && role == NoRole:
			if role, err = ParseRole(r); err != nil {
				return NoRole, nil, err
			}
		case isRole && string(role) == r:
		case isNames:
			if err := CheckPattern(Pattern(n)); err != nil {
				return NoRole, nil, err
			}
			names = append(names, Pattern(n))
		case isGrid && g != "" && (grid == "" || grid == g):
			grid = g
		default:
			return NoRole, nil, errStated
		}
	}
	return role, names, nil
}

// isOwn reports whether a URI has exactly this project's form.
func isOwn(u *url.URL) bool {
	return u.Scheme == uriScheme && u.Host == uriHost && u.User == nil && u.RawQuery == "" && !u.ForceQuery &&
		u.Fragment == ""
}

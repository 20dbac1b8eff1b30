package main

var (
	tokenTests     = []string{"./internal/token"}
	authorityTests = []string{"./security"}
	secureTests    = []string{"./cmd/snowgrid", "-run",
		"TestSecure|TestAgentBeyondLoopback|TestConfigCheckOfCertificates|TestIdentityRules"}
)

// credentialMutants weaken the rules for creating, reading and replacing certificates, keys and
// tokens.
var credentialMutants = []mutant{
	{"token", "a token without an end", "internal/token/verifier.go", "jwt.WithExpirationRequired(), ", "", tokenTests},
	{"token", "a token for another audience", "internal/token/verifier.go", "jwt.WithAudience(audience)",
		"jwt.WithAudience()", tokenTests},
	{"token", "a token lives as long as it says", "internal/token/verifier.go",
		"expires.Sub(v.source.Now()) > maxTTL+skew", "false", tokenTests},
	{"token", "a token of the role member", "internal/token/token.go", "if role == security.Member {", "if false {",
		tokenTests},
	{"token", "names in a token that match nothing", "internal/token/token.go",
		"if err := security.CheckPattern(n); err != nil {", "if err := security.CheckPattern(n); err != nil && false {",
		tokenTests},
	{"token", "an extension that is not understood", "internal/token/verifier.go", "!known || critical",
		"!known || critical && !known", tokenTests},
	{"token", "keys of an earlier generation check tokens", "internal/token/verifier.go",
		"set != nil && set.generation == generation", "set != nil", tokenTests},
	{"token", "any length of a token", "internal/token/verifier.go", "if len(text) > maxText {", "if false {", tokenTests},
	{"authority", "a directory is overwritten", "internal/authority/publish.go", "case len(entries) > 0:", "case false:",
		secureTests},
	{"authority", "private files can be read by others", "internal/authority/publish.go", "if isSecret(f.name) {",
		"if false {", secureTests},
	{"authority", "a member gets names", "security/certificate.go", "	if len(names) > 0 && (r == Admin || r == Member) {",
		"	if len(names) > 0 && r == NoRole {", secureTests},
	{"authority", "an authority is dropped while the own certificate is of it", "security/expiry.go",
		"next.own != nil && next.issuer.IsZero()", "next.own == nil && next.issuer.IsZero()", authorityTests},
	{"authority", "a start does not name the certificate that ends the calls to others", "grid/security.go",
		"cmp.Or(c.invalidText(), c.refusals.Last())", "cmp.Or(c.invalidText(), \"\")",
		[]string{"./grid/gridtest", "-run", "TestStartWithAnUntrusted"}},
	{"authority", "the earlier authority is not trusted during a rotation", "internal/authority/rotate.go",
		"append(next.Certificate(), d.authority.Certificate()...)", "next.Certificate()", authorityTests},
	{"authority", "a rotation ends with certificates of the earlier authority", "internal/authority/rotate.go",
		"cert.CheckSignatureFrom(d.authority.cert) != nil {",
		"cert.CheckSignatureFrom(d.authority.cert) != nil && cert == nil {", authorityTests},
	{"authority", "a new key of the gossip encrypts before members have it", "internal/authority/gossipkeys.go",
		"f.write(d, f.keys[0], nextMark, strings.TrimSpace(string(newGossipKey())))",
		"f.write(d, strings.TrimSpace(string(newGossipKey())), earlierMark, f.keys[0])", authorityTests},
	{"authority", "tokens of the earlier key end immediately", "internal/authority/rotate.go",
		"both := append(public, earlier...)", "both := append(public, earlier[:0]...)", authorityTests},
	{"agent", "an agent beyond loopback without certificates", "cmd/snowgrid/securitycheck.go", "case !f.isSet():",
		"case false:", secureTests},
	{"agent", "an agent beyond loopback without a gossip key", "cmd/snowgrid/securitycheck.go",
		"case !f.hasGossipKeys(cfg.Security):", "case false:", secureTests},
	{"agent", "an agent does not know the memory of its container", "cmd/snowgrid/agent.go",
		"	limitMemory(ctx, logger, memlimit.FromCgroup)\n", "	_ = memlimit.FromCgroup\n",
		[]string{"./cmd/snowgrid", "-run", "TestAgentInACgroup"}},
	{"agent", "an expired certificate passes config check", "cmd/snowgrid/securitycheck.go",
		"!ends.IsZero() && ends.Before(now)", "false", secureTests},
	{"command", "a token is sent to any process", "cmd/snowgrid/credentialflags.go", "case cfg == nil && f.Token != \"\":",
		"case false:", []string{"./cmd/snowgrid", "-run", "TestErrorsOfTrust"}},
	{"C6", "a certificate of another grid counts", "security/remote.go", "	if err := m.checkGrid(p); err != nil {",
		"	if err := m.checkGrid(p); err != nil && dialed {", statementTests},
	{"C6", "a member of another grid is called", "security/credentials.go", "		return m.checkGrid(p)\n", "		return nil\n",
		statementTests},
	{"C6", "a member has the certificate of another grid", "security/credentials.go",
		"	case named == \"\" || named == m.grid:", "	case named == \"\" || m.grid != \"\":", statementTests},
	{"C6", "a token of another grid counts", "internal/token/verifier.go", "	if own := v.source.Grid(); p.Grid != \"\"",
		"	if own := v.source.Grid(); p.Grid == own", tokenGridTests},
	{"C6", "a token counts after its end", "internal/token/verifier.go", "	case !v.source.Now().Before(expires):",
		"	case v.source.Now().IsZero():", tokenGridTests},
	{"C7", "a limit in another spelling is no limit", "security/certificate.go",
		"		case !isOwn(u):\n			return NoRole, nil, errStated", "		case !isOwn(u):", statementTests},
	{"C7", "a certificate that no rule matches states its role", "security/certificate.go",
		"	if len(rules) > 0 {\n		return p", "	if len(rules) > 1000 {\n		return p", statementTests},
	{"C8", "an admin limited to names acts on the grid", "security/action.go", "	if len(p.Names) > 0 && ofGrid {",
		"	if len(p.Names) > 1000 && ofGrid {", statementTests},
}

var (
	statementTests = []string{"./security", "-run", "TestStatements|TestLimited|TestCredentialsName"}
	tokenGridTests = []string{"./internal/token"}
)

package main

// sidecarTests guard snowgrid-serve. A mutant affects only tests in their own process.
var sidecarTests = []string{"-C", "cmd/snowgrid-serve", ".", "-run", "Limit|Limited|Origins|StartFails|Config|Precedence|StoreURLs|Table|Certificates|Encryption"}

// sidecarMutants weaken snowgrid-serve's promises about requests and configurations.
var sidecarMutants = []mutant{
	{"sidecar", "a request may ask for any number of IDs", "internal/wire/ids.go", "case *r.N < 1 || *r.N > MaxIDs:", "case *r.N < 1:", sidecarTests},
	{"sidecar", "a gRPC call may ask for any number of IDs", "cmd/snowgrid-serve/grpcserver.go", "if n.GetValue() > maxIDs {", "if n.GetValue() > 1<<20 {", sidecarTests},
	{"sidecar", "errors over gRPC are not Unavailable", "cmd/snowgrid-serve/grpcserver.go", "status.Error(codes.Unavailable,", "status.Error(codes.Internal,", sidecarTests},
	{"sidecar", "callers may have a process keep any number of handles", "cmd/snowgrid-serve/service.go", "for len(s.names) > namesMax {", "for len(s.names) < 0 {", sidecarTests},
	{"sidecar", "names without a sequencer take the place of others", "cmd/snowgrid-serve/service.go", "if use.requests == 0 && !use.open {", "if false {", sidecarTests},
	{"sidecar", "any number of requests is served at the same time", "cmd/snowgrid-serve/service.go", "if s.requests.Add(1) > requestsMax {", "if s.requests.Add(1) < 0 {", sidecarTests},
	{"sidecar", "pages of other origins get IDs", "cmd/snowgrid-serve/httpserver.go", "if err := a.checkOrigin(r); err != nil {", "if err := a.checkOrigin(r); err != nil && r.Method == http.MethodGet {", sidecarTests},
	{"sidecar", "a rebound name is an origin like any other", "cmd/snowgrid-serve/httpserver.go", "&& a.loopback && !isLoopback(r.Host)", "&& !a.loopback && !isLoopback(r.Host)", sidecarTests},
	{"sidecar", "other machines reach callers' servers without certificates", "cmd/snowgrid-serve/tlsflags.go", "if addr != \"\" && addr != \"none\" && !isLoopback(addr) {", "if addr == \"?\" {", sidecarTests},
	{"sidecar", "IDs over HTTP need no certificate", "cmd/snowgrid-serve/httpserver.go", "if err := a.service.access.allow(r.TLS, security.IDs, \"\"); err != nil {", "if err := a.service.access.allow(r.TLS, security.Health, \"\"); err != nil {", sidecarTests},
	{"sidecar", "a certificate for some names gets IDs of others over HTTP", "cmd/snowgrid-serve/httpserver.go", "allow(r.TLS, security.IDs, a.service.nameOf(in))", "allow(r.TLS, security.IDs, \"\")", sidecarTests},
	{"sidecar", "IDs over gRPC need no certificate", "cmd/snowgrid-serve/grpcserver.go", "allow(stateOf(ctx), security.IDs, s.service.def.Name())", "allow(stateOf(ctx), security.Health, \"\")", sidecarTests},
	{"sidecar", "a certificate for some names gets IDs of others over gRPC", "cmd/snowgrid-serve/grpcserver.go", "allow(stateOf(ctx), security.IDs, s.service.def.Name())", "allow(stateOf(ctx), security.IDs, \"\")", sidecarTests},
	{"sidecar", "metrics need no certificate", "cmd/snowgrid-serve/httpserver.go", "allow(r.TLS, security.Status, \"\")", "allow(r.TLS, security.Health, \"\")", sidecarTests},
	{"sidecar", "a caller is believed after its authority is no longer trusted", "cmd/snowgrid-serve/access.go", "if a.generation != generation ||", "if", sidecarTests},
	{"sidecar", "a certificate with two roles is a holder's", "cmd/snowgrid-serve/access.go", "if p.Role == security.NoRole && !statesRole(state) {", "if p.Role == security.NoRole {", sidecarTests},
	{"sidecar", "IDs of a mixed fleet have any layout", "cmd/snowgrid-serve/serve.go", "if err == nil && s.Etcd.CompatMixed &&", "if err != nil && s.Etcd.CompatMixed &&", sidecarTests},
	{"sidecar", "the file counts more than a variable", "cmd/snowgrid-serve/configfile.go", `if os.Getenv(name) != "" {`, `if os.Getenv(name) == "?" {`, sidecarTests},
	{"sidecar", "a misspelled key of the file is ignored", "cmd/snowgrid-serve/configfile.go", "if !known[name] {", "if name == \"\" {", sidecarTests},
	{"sidecar", "a misspelled parameter of the store is ignored", "cmd/snowgrid-serve/storeurl.go", "if params != nil && !slices.Contains(params, name) {", "if name == \"\" && !slices.Contains(params, name) {", sidecarTests},
	{"sidecar", "readiness may time out before the predecessor's lease", "cmd/snowgrid-serve/s3store.go", "ready > 0 && ready <= lease", "ready < 0 && ready <= lease", sidecarTests},
}

package main

// sidecarTests guard snowgrid-serve. Only the tests in their own process see a mutant.
var sidecarTests = []string{"-C", "cmd/snowgrid-serve", ".", "-run", "Limit|Limited|Origins|StartFails|Config|Precedence|StoreURLs|Table"}

// sidecarMutants weaken the promises of snowgrid-serve about requests and configurations.
var sidecarMutants = []mutant{
	{"sidecar", "a request may ask for any number of IDs", "cmd/snowgrid-serve/service.go", "if n < 1 || n > maxIDs {", "if n < 1 {", sidecarTests},
	{"sidecar", "a gRPC call may ask for any number of IDs", "cmd/snowgrid-serve/grpcserver.go", "if n.GetValue() > maxIDs {", "if n.GetValue() > 1<<20 {", sidecarTests},
	{"sidecar", "errors over gRPC are not Unavailable", "cmd/snowgrid-serve/grpcserver.go", "status.Error(codes.Unavailable,", "status.Error(codes.Internal,", sidecarTests},
	{"sidecar", "callers may have a process keep any number of handles", "cmd/snowgrid-serve/service.go", "for len(s.names) > namesMax {", "for len(s.names) < 0 {", sidecarTests},
	{"sidecar", "names without a sequencer take the place of others", "cmd/snowgrid-serve/service.go", "if use.requests == 0 && !use.open {", "if false {", sidecarTests},
	{"sidecar", "any number of requests is served at the same time", "cmd/snowgrid-serve/service.go", "if s.requests.Add(1) > requestsMax {", "if s.requests.Add(1) < 0 {", sidecarTests},
	{"sidecar", "pages of other origins get IDs", "cmd/snowgrid-serve/httpserver.go", "if err := a.checkOrigin(r); err != nil {", "if err := a.checkOrigin(r); err != nil && r.Method == http.MethodGet {", sidecarTests},
	{"sidecar", "a rebound name is an origin like any other", "cmd/snowgrid-serve/httpserver.go", "&& a.loopback && !isLoopback(r.Host)", "&& !a.loopback && !isLoopback(r.Host)", sidecarTests},
	{"sidecar", "IDs of a mixed fleet have any layout", "cmd/snowgrid-serve/serve.go", "if err == nil && s.Etcd.CompatMixed &&", "if err != nil && s.Etcd.CompatMixed &&", sidecarTests},
	{"sidecar", "the file counts more than a variable", "cmd/snowgrid-serve/configfile.go", `if os.Getenv(name) != "" {`, `if os.Getenv(name) == "?" {`, sidecarTests},
	{"sidecar", "a misspelled key of the file is ignored", "cmd/snowgrid-serve/configfile.go", "if !known[name] {", "if name == \"\" {", sidecarTests},
	{"sidecar", "a misspelled parameter of the store is ignored", "cmd/snowgrid-serve/storeurl.go", "if params != nil && !slices.Contains(params, name) {", "if name == \"\" && !slices.Contains(params, name) {", sidecarTests},
	{"sidecar", "readiness may time out before the predecessor's lease", "cmd/snowgrid-serve/s3store.go", "ready > 0 && ready <= lease", "ready < 0 && ready <= lease", sidecarTests},
}

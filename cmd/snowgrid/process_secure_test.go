//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/security"
)

var secure = flag.Bool("secure", false,
	"run the tests of agents as processes with security on: mutual TLS and a gossip key")

// securityDirVar is the variable with the directory of certificates.
const securityDirVar = "SNOWGRID_SECURITY_DIR"

// secureProcesses makes a directory with certificates of every role, which all processes of
// the tests use with -secure, and returns a function that removes it.
func secureProcesses() (remove func(), err error) {
	if !*secure {
		return func() {}, nil
	}
	parent, err := os.MkdirTemp("", "snowgrid")
	if err != nil {
		return nil, err
	}
	remove = func() { _ = os.RemoveAll(parent) }
	dir := filepath.Join(parent, "security")
	if err := authority.Create(dir, authority.Options{}, time.Now()); err != nil {
		remove()
		return nil, fmt.Errorf("certificates: %w", err)
	}
	return remove, os.Setenv(securityDirVar, dir)
}

// clientConfig returns the configuration of a client, with certificates if the agents have
// them. They are an admin's, since clients destroy names, too.
func clientConfig(addrs ...string) client.Config {
	cfg := client.Config{Addrs: addrs}
	if *secure {
		cfg.Security = &security.Config{Dir: os.Getenv(securityDirVar), Role: security.Admin}
	}
	return cfg
}

// probe requests a path as a probe does, which has no certificate: over TLS if the agent
// expects that.
func probe(ctx context.Context, api, path string) (status int, err error) {
	transport := &http.Transport{
		DisableKeepAlives: true, DialContext: (&net.Dialer{}).DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // as probes of Kubernetes do
	}
	for _, scheme := range []string{"http", "https"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+api+path, nil)
		if err != nil {
			return 0, err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return 0, err
		}
		_ = response.Body.Close()
		if status = response.StatusCode; status != http.StatusBadRequest {
			break
		}
	}
	return status, nil
}

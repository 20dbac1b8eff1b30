package main

import (
	"net"
	"net/netip"
	"strings"

	"github.com/snowgrid/snowgrid/grid"
)

// opsFlags set the listener for operators: health checks, metrics and profiles.
type opsFlags struct {
	OpsAddr string `help:"Listen address for /metrics, /livez and /readyz (HTTP), without TLS: bind it where only the monitoring reaches it. Default: none." env:"SNOWGRID_OPS_ADDR" placeholder:"HOST:PORT"`
	Pprof   bool   `help:"Serve profiles of the process at /debug/pprof/ of --ops-addr, which has to be a loopback address then." env:"SNOWGRID_PPROF"`
}

// apply refuses profiles that others than this machine could read.
func (f *opsFlags) apply(*grid.Config) error {
	if f.OpsAddr == "" {
		if f.Pprof {
			return badValue("pprof", f.Pprof,
				"it needs a listener; give --ops-addr with a loopback address, such as 127.0.0.1:7949")
		}
		return nil
	}
	if _, _, err := net.SplitHostPort(f.OpsAddr); err != nil {
		return badValue("ops-addr", f.OpsAddr, "not host:port (%v); give an address such as 127.0.0.1:7949", err)
	}
	if f.Pprof && !isLoopback(f.OpsAddr) {
		return badValue("ops-addr", f.OpsAddr,
			"with --pprof it has to be a loopback address, since profiles show the memory of the process; give 127.0.0.1:PORT, or omit --pprof")
	}
	return nil
}

// isLoopback reports whether an address, with a port or without, is reached from this machine
// alone.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

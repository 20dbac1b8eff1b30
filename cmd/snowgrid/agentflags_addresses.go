package main

import (
	"errors"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// addressFlags holds the member's addresses and the addresses that it joins.
type addressFlags struct {
	GossipAddr     string        `help:"Listen address for gossip between members (TCP and UDP). This and the next three may have a template: {{ GetPrivateIP }}:7946." default:"127.0.0.1:7946" env:"SNOWGRID_GOSSIP_ADDR"`
	RaftAddr       string        `help:"Listen address for Raft (TCP)." default:"127.0.0.1:7947" env:"SNOWGRID_RAFT_ADDR"`
	APIAddr        string        `name:"api-addr" help:"Listen address of the API, for clients and other members (HTTP)." default:"127.0.0.1:7948" env:"SNOWGRID_API_ADDR"`
	APIIdleTimeout time.Duration `name:"api-idle-timeout" help:"How long a connection of HTTP/1.1 to the API may be without a request: longer than the idle time-out of load balancers in front of it. Default: 90s." env:"SNOWGRID_API_IDLE_TIMEOUT" placeholder:"DURATION"`
	AdvertiseHost  string        `help:"Host by which other members reach this one, if it differs from the listen address." env:"SNOWGRID_ADVERTISE_HOST" placeholder:"HOST"`
	Join           []string      `help:"Where to find other members: addresses or DNS names of their gossip, srv:_NAME._tcp.DOMAIN, or file:PATH with one address a line." env:"SNOWGRID_JOIN" placeholder:"HOST:PORT"`
}

func (f *addressFlags) apply(cfg *grid.Config) error {
	var faults []error
	for _, to := range []struct {
		flag, value string
		expand      func(flag, value string) (string, error)
		field       *string
	}{
		{"gossip-addr", f.GossipAddr, expandAddr, &cfg.GossipAddr},
		{"raft-addr", f.RaftAddr, expandAddr, &cfg.RaftAddr},
		{"api-addr", f.APIAddr, expandAddr, &cfg.APIAddr},
		{"advertise-host", f.AdvertiseHost, expandHost, &cfg.AdvertiseHost},
	} {
		value, err := to.expand(to.flag, to.value)
		*to.field, faults = value, append(faults, err)
	}
	cfg.Join, cfg.APIIdleTimeout = f.Join, f.APIIdleTimeout
	return errors.Join(faults...)
}

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/snowgrid/snowgrid/client/etcd"
	"github.com/snowgrid/snowgrid/client/etcd/mixed"
	"github.com/snowgrid/snowgrid/client/store"
)

// etcdFlags are the keys used by the snowflake service on etcd.
type etcdFlags struct {
	Endpoints []string `help:"Addresses of etcd." env:"ENDPOINTS" placeholder:"HOST:PORT"`
	Prefix    string   `help:"Prefix of every key; /snowgrid/ by default, and /i3d/ with --etcd-mixed." env:"PREFIX" placeholder:"PREFIX"`
	Username  string   `help:"User of etcd." env:"USERNAME" placeholder:"NAME"`
	Password  string   `help:"Password of that user. In the file or the environment other processes do not see it." env:"PASSWORD" placeholder:"PASSWORD"`
	Mixed     bool     `help:"Take the place of the snowflake service on etcd: continue its node history, and let its workers run at the same time. Needs --layout 63/22/1024 --epoch 1970-01-01, which are theirs." env:"MIXED"`
}

// etcdTries has the pauses between attempts to connect: gRPC's own grow to two minutes, in which a process would
// have no IDs although etcd is back.
var etcdTries = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 200 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second,
	},
	MinConnectTimeout: 5 * time.Second,
}

// locateEtcd reads the address of etcd: etcd://USER:PASSWORD@HOST:PORT,HOST:PORT/PREFIX. The flags
// count where the URL states nothing.
func locateEtcd(_ context.Context, f storeFlags, _, rest string) (located, error) {
	a, err := parseAddress(rest, []string{"tls", "ca"})
	if err != nil {
		return located{}, err
	}
	if len(a.hosts) == 0 {
		a.hosts = f.Etcd.Endpoints
	}
	if len(a.hosts) == 0 {
		return located{}, usagef("no servers; write them as etcd://HOST:2379,HOST:2379, or as etcd_endpoints")
	}
	for _, host := range a.hosts {
		if _, port, err := net.SplitHostPort(host); strings.Contains(host, "://") { // a URL, which the driver reads
			continue
		} else if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 {
			return located{}, usagef("server %.80q is not host:port with a port from 1 to 65535; write HOST:2379", host)
		}
	}
	cfg := clientv3.Config{
		Endpoints: a.hosts, Username: f.Etcd.Username, Password: f.Etcd.Password,
		DialTimeout: 5 * time.Second, DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 5 * time.Second,
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(etcdTries)}, Logger: zap.NewNop(),
	}
	if a.user != nil {
		cfg.Username = a.user.Username()
		cfg.Password, _ = a.user.Password()
	}
	if cfg.TLS, err = etcdTLS(a); err != nil {
		return located{}, err
	}
	prefix := f.Etcd.Prefix
	if a.path != "" {
		prefix = "/" + strings.Trim(a.path, "/") + "/"
	}
	open := func(ctx context.Context, failing func(error)) (opened, error) {
		return f.openEtcd(ctx, cfg, prefix, failing)
	}
	return located{like: etcd.New(nil, etcd.Config{}), open: open}, nil
}

func (f storeFlags) openEtcd(ctx context.Context, cfg clientv3.Config, prefix string,
	failing func(error)) (opened, error) {
	servers := strings.Join(cfg.Endpoints, ",")
	cli, err := clientv3.New(cfg)
	if err != nil {
		return opened{}, fmt.Errorf("connect to %s: %w; check the servers, the user and the password", servers, err)
	}
	s := mixed.New(cli, mixed.Config{Prefix: prefix})
	if !f.Etcd.Mixed {
		s = etcd.New(cli, etcd.Config{Prefix: prefix})
		never := func(error) bool { return false }
		err := untilAnswered(ctx, failing, never, func(ctx context.Context) error { return refuseWorkers(ctx, s) })
		if err != nil {
			_ = cli.Close()
			return opened{}, err
		}
	}
	return opened{Store: s, name: "etcd://" + servers + prefix, closed: func() { _ = cli.Close() }}, nil
}

// refuseWorkers returns an error if a store has the prefix of the snowflake service. The plain store
// ignores the service's workers, whose IDs it could repeat.
func refuseWorkers(ctx context.Context, s store.Store) error {
	reports, err := s.List(ctx, "workers/last_reported_time/")
	if err != nil {
		return fmt.Errorf("%v: %w", s, err)
	}
	if len(reports) > 0 {
		return fmt.Errorf("%v has worker IDs of the snowflake service; give --etcd-mixed (etcd_mixed in the file) to "+
			"continue them, or another prefix", s)
	}
	return nil
}

// etcdTLS returns the TLS configuration for the parameters, nil for clear text.
func etcdTLS(a address) (*tls.Config, error) {
	on, err := yes(a.query, "tls", a.query.Has("ca"))
	if err != nil || !on {
		return nil, err
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := a.query.Get("ca"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usagef("parameter ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("parameter ca: %s has no certificate in PEM", file)
		}
	}
	return cfg, nil
}

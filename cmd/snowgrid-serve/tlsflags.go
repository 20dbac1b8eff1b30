package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

type tlsFlags struct {
	TLSCert     string `name:"tls-cert" help:"Certificate of this process with its chain, in PEM. It and the two files below are read again when they change." env:"SNOWGRID_TLS_CERT" placeholder:"FILE"`
	TLSKey      string `name:"tls-key" help:"Private key of --tls-cert, in PEM." env:"SNOWGRID_TLS_KEY" placeholder:"FILE"`
	TLSClientCA string `name:"tls-client-ca" help:"Authorities in PEM whose certificates callers need for IDs and metrics. A certificate that states a role or names (snowgrid secure issue) is held to them." env:"SNOWGRID_TLS_CLIENT_CA" placeholder:"FILE"`
	Insecure    bool   `help:"Listen beyond loopback although callers prove no identity." env:"SNOWGRID_INSECURE"`

	every time.Duration `kong:"-"` // how often the files are looked at; 0 = 10 s
}

// check refuses flags that contradict each other, and addresses that other machines can
// reach while callers prove no identity.
func (f tlsFlags) check(http, grpc string) error {
	switch {
	case http == "": // it would mean any free port of all addresses
		return errors.New("--http-addr: empty; give HOST:PORT, or leave it out for 127.0.0.1:8001")
	case !isAddr(http):
		return fmt.Errorf("--http-addr: %.80q is not host:port with a port from 0 to 65535; give one such as 127.0.0.1:8001",
			http)
	case grpc != "" && grpc != noAddr && !isAddr(grpc):
		return fmt.Errorf("--grpc-addr: %.80q is not host:port with a port from 0 to 65535; give one such as "+
			"127.0.0.1:7669, or %s",
			grpc, noAddr)
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return fmt.Errorf("--tls-cert is %q and --tls-key is %q; give both or neither", f.TLSCert, f.TLSKey)
	case f.TLSClientCA != "" && f.TLSCert == "":
		return errors.New("--tls-client-ca: callers show certificates over TLS alone; give --tls-cert and --tls-key, too")
	case f.TLSClientCA != "" || f.Insecure:
		return nil
	}
	for _, addr := range []string{http, grpc} {
		if addr != "" && addr != noAddr && !wire.IsLoopback(addr) {
			return fmt.Errorf("%s can be reached from other machines, and callers need no certificate; give --tls-cert, "+
				"--tls-key and --tls-client-ca, listen on 127.0.0.1, or give --insecure", addr)
		}
	}
	return nil
}

func isAddr(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// checkKey refuses a private key that every user of the host can read, and warns of a key that its group may change.
func (f tlsFlags) checkKey(ctx context.Context, log *slog.Logger) error {
	if f.TLSKey == "" {
		return nil
	}
	warnings, err := authority.CheckModes(f.TLSKey)
	for _, warning := range warnings {
		log.WarnContext(ctx, "private key is not private", "advice", warning)
	}
	return err
}

// load reads the files. Without --tls-cert both results are nil, and callers need nothing.
func (f tlsFlags) load() (*tls.Config, *access, error) {
	if f.TLSCert == "" {
		return nil, nil, nil
	}
	cfg := security.Config{CertFile: f.TLSCert, KeyFile: f.TLSKey, CAFile: f.TLSClientCA, Every: f.every}
	if f.TLSClientCA == "" {
		cfg.CAFile = f.TLSCert // callers need no certificate
	}
	credentials, err := security.Load(cfg, security.Member)
	if err != nil {
		return nil, nil, err
	}
	conf := credentials.Server()
	current := conf.GetConfigForClient
	conf.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c, err := current(hello)
		if err != nil {
			return nil, err
		}
		c = c.Clone()
		c.NextProtos = conf.NextProtos
		if f.TLSClientCA == "" {
			c.ClientAuth = tls.NoClientCert
		}
		return c, nil
	}
	conf.NextProtos = []string{"h2", "http/1.1"}
	return conf, &access{credentials: credentials, open: f.TLSClientCA == ""}, nil
}

// expiresSoon is the remaining validity of the certificate below which the log has a warning.
const expiresSoon = 14 * 24 * time.Hour

// warn logs that the server's certificate has expired, or expires soon. Callers reject it then.
func (a *access) warn(ctx context.Context, log *slog.Logger) {
	ends := a.credentials.Expiry()
	file, _, _, _ := a.credentials.Files()
	attrs := []any{"file", file, "certificate_expires", ends.UTC(), "advice",
		"replace --tls-cert and --tls-key; the files are read again within seconds"}
	switch left := ends.Sub(a.credentials.Now()); {
	case left <= 0:
		log.WarnContext(ctx, "certificate expired; callers reject it", attrs...)
	case left <= expiresSoon:
		log.WarnContext(ctx, "certificate expires soon", attrs...)
	}
}

// expiry returns the end of the server's certificate in Unix seconds, 0 without one.
func (a *access) expiry() float64 {
	if a == nil || a.credentials.Expiry().IsZero() {
		return 0
	}
	return float64(a.credentials.Expiry().Unix())
}

// watch warns of the certificate's end, and follows file changes until ctx ends: within seconds, and
// immediately after a signal.
func (a *access) watch(ctx context.Context, log *slog.Logger, hangup <-chan os.Signal) {
	var following sync.WaitGroup
	defer following.Wait()
	if a != nil {
		a.warn(ctx, log)
		following.Go(func() {
			a.credentials.Watch(ctx, func(err error) { a.reloaded(ctx, log, err) })
		})
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
		}
		if a == nil {
			log.InfoContext(ctx, "SIGHUP reloads nothing; there are no certificates, and settings are read at the start")
			continue
		}
		_, err := a.credentials.Reload()
		a.reloaded(ctx, log, err)
	}
}

func (a *access) reloaded(ctx context.Context, log *slog.Logger, err error) {
	if err != nil {
		log.WarnContext(ctx, "certificates not reloaded", "error", err, "advice",
			"the process continues with the earlier ones; correct the files, which are read again every few seconds")
		return
	}
	log.InfoContext(ctx, "certificates reloaded", "certificate_expires", a.credentials.Expiry())
	a.warn(ctx, log)
}

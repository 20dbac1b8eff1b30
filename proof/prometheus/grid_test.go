package prometheus

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snowgrid/snowgrid/client"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/loopback"
	"github.com/snowgrid/snowgrid/metrics"
	"github.com/snowgrid/snowgrid/metrics/membermetrics"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// exporter is one process that is scraped.
type exporter struct {
	instance string
	url      string
}

// export serves a collector at /metrics as the agent does.
func export(t *testing.T, instance string, c prometheus.Collector) exporter {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(c, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(server.Close)
	return exporter{instance, server.URL}
}

// scrape returns the body and the content type of a scrape.
func (e exporter) scrape(t *testing.T) (body []byte, contentType string) {
	t.Helper()
	res, err := http.Get(e.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err = io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("scrape of %s: %d %v", e.instance, res.StatusCode, err)
	}
	return body, res.Header.Get("Content-Type")
}

// startGrid starts three members with TLS, data directories and an anchor, and a client, and
// returns them to be scraped, and a function that has them do something of everything.
func startGrid(t *testing.T) (exporters []exporter, work func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	gossip, err := loopback.FreeAddrs(3)
	if err != nil {
		t.Fatal(err)
	}
	anchor, err := store.OpenFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	conf := certificates(t)
	members := make([]*grid.Member, 3)
	var starting sync.WaitGroup
	for i := range members {
		dir := t.TempDir()
		starting.Go(func() {
			m, err := grid.Start(ctx, grid.Config{
				Expect: 3, Join: gossip, GossipAddr: gossip[i], RaftAddr: "127.0.0.1:0", APIAddr: "127.0.0.1:0", DataDir: dir,
				Security: &security.Config{TLS: conf}, Anchor: anchor, Window: 3 * time.Second,
			})
			if err != nil {
				t.Errorf("member %d: %v", i, err)
				return
			}
			members[i] = m
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, m := range members {
		t.Cleanup(func() { _ = m.Close() })
		exporters = append(exporters, export(t, fmt.Sprintf("m%d:7949", i+1), membermetrics.ForMember(m)))
	}
	c, err := client.Dial(ctx, client.Config{Addrs: []string{members[0].Addrs().API},
		Security: &security.Config{TLS: conf}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	exporters = append(exporters, export(t, "web:9090", metrics.ForClient(c)))
	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := members[1].CreateSequencer(ctx, "invoices", sequencer.Config{}); err != nil {
		t.Fatal(err)
	}
	reported := uint64(0)
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: conf}}
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: conf.RootCAs}}}
	return exporters, func() {
		if _, err := orders.Fill(t.Context(), make([]sequencer.ID, 5000)); err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			if _, err := c.CreateSequencer(t.Context(), fmt.Sprintf("s%d", time.Now().UnixNano()),
				sequencer.Config{}); err != nil {
				t.Fatal(err)
			}
			for path, by := range map[string]*http.Client{"/nothing": browser, "/v1/status": stranger} {
				res, err := by.Get("https://" + m.Addrs().API + path)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
			}
		}
		issued := reported
		await(t, "a report of the IDs of orders",
			func() bool { reported = reportedIDs(members, "orders"); return reported > issued })
	}
}

// reportedIDs returns how many IDs of a sequencer holders have reported to the members.
func reportedIDs(members []*grid.Member, name string) (ids uint64) {
	for _, m := range members {
		for _, used := range m.Stats().Holders.Sequencers {
			if used.Name == name {
				ids += used.IDs
			}
		}
	}
	return ids
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within a minute", what)
		}
	}
}

// certificates returns a configuration that members and clients of one machine share.
func certificates(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "snowgrid"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().AddDate(1, 0, 0), URIs: security.URIs(security.Member, nil),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, RootCAs: pool, ClientCAs: pool,
		ClientAuth: tls.VerifyClientCertIfGiven,
	}
}

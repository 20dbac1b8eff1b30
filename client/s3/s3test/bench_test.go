package s3test_test

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// timed measures the swaps of a client.
type timed struct {
	store.Store
	mu   sync.Mutex
	took []time.Duration
}

func (s *timed) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	began := time.Now()
	r, err := s.Store.Swap(ctx, e)
	if err == nil {
		s.mu.Lock()
		s.took = append(s.took, time.Since(began))
		s.mu.Unlock()
	}
	return r, err
}

// BenchmarkBesideBarePut measures, in turn, an attach, a return and a renewal over versitygw
// and a bare conditional PUT of the SDK, and reports medians and their ratios to the PUT.
func BenchmarkBesideBarePut(b *testing.B) {
	server := s3test.Start(b)
	cli := server.Client()
	ctx := b.Context()
	swaps := &timed{Store: s3.New(cli, s3test.Bucket, "ids/")}
	c, err := store.Open(ctx, swaps, store.Config{Window: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Leave(ctx) }()
	q, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
	if err != nil {
		b.Fatal(err)
	}
	measure := func(f func() error) time.Duration {
		began := time.Now()
		if err := f(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	var attaches, returns, puts []time.Duration
	var etag *string
	put := func() error {
		in := &awss3.PutObjectInput{
			Bucket: aws.String(s3test.Bucket), Key: aws.String("bare"),
			Body: bytes.NewReader(append(newBody(), make([]byte, 500)...)), IfMatch: etag,
		}
		out, err := cli.PutObject(ctx, in)
		if err == nil {
			etag = out.ETag
		}
		return err
	}
	for b.Loop() {
		puts = append(puts, measure(put))
		returns = append(returns, measure(func() error { return q.DetachLogicalNode(ctx) }))
		puts = append(puts, measure(put))
		attaches = append(attaches, measure(func() error { return q.AttachLogicalNode(ctx) }))
	}
	swaps.mu.Lock()
	swaps.took = nil
	swaps.mu.Unlock()
	// Renewals are the client's, every 0.3 s. A PUT after a pause takes longer than one of a
	// loop, so they are compared with such ones.
	var paused []time.Duration
	for range 60 {
		time.Sleep(100 * time.Millisecond)
		paused = append(paused, measure(put))
	}
	swaps.mu.Lock()
	renewals := swaps.took
	swaps.mu.Unlock()
	report := func(name string, all, beside []time.Duration) {
		b.ReportMetric(float64(median(all).Microseconds())/1000, name+"-ms")
		b.ReportMetric(float64(median(all))/float64(median(beside)), name+"/put")
	}
	b.ReportMetric(float64(median(puts).Microseconds())/1000, "put-ms")
	report("attach", attaches, puts)
	report("return", returns, puts)
	report("renewal", renewals, paused)
	b.ReportMetric(0, "ns/op")
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

package s3test_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
	"github.com/snowgrid/snowgrid/sequencer"
)

// object is a record as another program reads it.
type object struct {
	TaskID            string
	Version           uint64
	Timestamp         int64
	KnownNodesMapping map[string]uint64
}

// read reads an object with the SDK alone.
func read(t *testing.T, cli *awss3.Client, key string) (o object, meta map[string]string) {
	t.Helper()
	out, err := cli.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String(s3test.Bucket), Key: &key})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Body.Close() }()
	body, err := io.ReadAll(out.Body)
	if err != nil || len(body) == 0 || aws.ToString(out.ContentType) != "application/json" {
		t.Errorf("%s: %d bytes of type %q, %v", key, len(body), aws.ToString(out.ContentType), err)
	}
	if err := json.Unmarshal(body, &o); err != nil {
		t.Error(err)
	}
	return o, out.Metadata
}

// Z1, Z4, Z7, Z8: the objects that a real server has, through the life of a record.
func TestObjectsOfARealServer(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		open := func(task string) (*store.Client, *sequencer.Sequencer) {
			c, err := store.Open(t.Context(), s3.New(cli, s3test.Bucket, "ids/"),
				store.Config{Pool: 2, Task: task, Window: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			q, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
			if err != nil {
				t.Fatal(err)
			}
			return c, q
		}
		check := func(task, version string, number uint64) {
			t.Helper()
			o, meta := read(t, cli, "ids/orders/0.json")
			if o.TaskID != task || o.Version != number || meta["taskid"] != task || meta["version"] != version ||
				meta["acquirable"] != "true" {
				t.Errorf("%+v, %v", o, meta)
			}
		}
		first, q := open("first")
		if _, err := q.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("first", "1", 1)
		if o, _ := read(t, cli, "ids/orders/0.json"); time.Until(time.UnixMilli(o.Timestamp)) > 3*time.Second {
			t.Errorf("until %v", time.UnixMilli(o.Timestamp))
		}
		if err := first.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("first", "1", 1)
		second, _ := open("second")
		check("second", "2", 2)
		_ = second.Close() // as a crash
		other, _ := open("other")
		defer func() { _ = other.Leave(t.Context()) }()
		_, q = open("third") // node 1 is other's
		check("third", "3", 3)
		if node, _ := q.LogicalNode(); node != 0 {
			t.Errorf("node %d", node)
		}
		for _, key := range []string{"ids/orders/1.json", "ids/orders/sequencer.json", "ids/orders/node-ids-initialized"} {
			read(t, cli, key)
		}
	})
}

// Z3 over a real server.
func TestMissingBucket(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		_, err := store.Open(t.Context(), s3.New(cli, "missing", ""), store.Config{})
		if !errors.Is(err, sequencer.ErrInvalidConfig) {
			t.Error(err)
		}
	})
}

// Z15: a real server behind a line that becomes 10 s slow.
func TestZ15SlowLine(t *testing.T) {
	server := s3test.Start(t)
	proxy, err := faultproxy.Start(server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer proxy.Close()
	c, err := store.Open(t.Context(), s3.New(s3test.Client(proxy.Addr()), s3test.Bucket, ""),
		store.Config{Window: 5 * time.Second, CallTimeout: 2500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	q, err := c.CreateSequencer(t.Context(), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "ready", func() bool { return c.Health().Ready })
	proxy.Set(faultproxy.Fault{Delay: 10 * time.Second})
	await(t, "not ready", func() bool { return !c.Health().Ready })
	t.Log(c.Health().Reason)
	proxy.Set(faultproxy.Fault{})
	await(t, "ready again", func() bool { return c.Health().Ready })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := q.Next(ctx); err != nil {
		t.Error(err)
	}
}

// await polls a client's health, which tells of no change.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not %s", what)
		}
	}
}

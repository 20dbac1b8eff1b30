// Package s3 keeps the records of package store as objects of a bucket, in Amazon S3 or
// a compatible server that carries out conditional writes.
//
//	cfg, err := config.LoadDefaultConfig(ctx)
//	c, err := store.Open(ctx, s3.New(awss3.NewFromConfig(cfg), "my-bucket", "ids/"), store.Config{})
//	orders, err := c.CreateSequencer(ctx, "orders", sequencer.Config{})
//
// # Objects
//
// The record of logical node n is the object <prefix><sequencer>/<n>.json, of type
// application/json. Its user metadata repeats taskid, version and acquirable, and
// snowgrid-write has a random value for each write. The ETag is the revision.
//
// Every write is one PutObject with If-None-Match: * or If-Match. If-Match compares
// ETags, and the ETag of many servers is the MD5 of the body: two writes of one body
// cannot be told apart, so each body needs a part that never recurs. The records of
// package store have a nonce.
//
// # Needs
//
// The server has to carry out If-None-Match: * and If-Match on PutObject, and reads
// have to show every completed write. The start-up probe of [store.Open] refuses a server
// that ignores the conditions. Amazon S3 needs the permissions s3:GetObject and
// s3:PutObject on the objects, and s3:ListBucket on the bucket; without the last one, a
// missing object cannot be told from a forbidden one.
//
// No lifecycle rule may expire the objects: a record that is missing is damage, and its
// logical node stays out of use until it is repaired. In a bucket with versioning each
// renewal leaves a noncurrent version, so add a rule that expires noncurrent versions.
//
// # Cost
//
// A holder renews each of its records every third of the window, less up to 20 %, and a
// renewal is one PUT. The longer the window, the longer the logical node of a crashed
// holder stays out of use, and the longer a holder issues IDs while the bucket cannot be
// reached. For one record held for 30 days, with list prices of 0.005 USD (Standard) and
// 0.00113 USD (Express One Zone) for 1,000 PUTs:
//
//	window            PUTs   Standard    Express   crashed holder's node, and time
//	                          USD/month  USD/month  without the bucket
//	  15 s          576,000        2.88       0.65    15 s     10 s
//	  60 s          144,000        0.72       0.16    60 s     40 s
//	 120 s (default) 72,000        0.36       0.08   120 s     80 s
//	 600 s           14,400        0.07       0.02   600 s    400 s
//
// An attach is one listing, the marker, a GET of each record that changed since this
// process read it last, and one PUT; a start is ten more requests. A process that waits for
// a logical node sends 100,000 listings in 30 days (0.50 USD), and two GETs or more with
// each; Config.AcquireMaxDelay makes it look less often than every 30 s. Idle detach
// (DetachWhenIdle of a handle) ends the renewals of a handle without work.
//
// Over versitygw on one machine an attach takes 4.2 times as long as a bare conditional
// PUT of the SDK, a renewal 1.2 times and a return 1.0 times (medians of one run).
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	defaultWindow = 120 * time.Second
	bodyMax       = 64 << 10 // bytes, in package store's contract
	keyMax        = 1024     // bytes, in S3
)

// New returns a store over the objects in a bucket with keys that begin with prefix. The client is
// used as configured, with its credentials, endpoint and retries; the caller still owns it. The
// store also implements [store.Dated] by the Date header in each response, and suggests a window of
// 120 s.
//
// A wrong bucket, region or permission is an error from each call that matches
// sequencer.ErrInvalidConfig.
func New(cli *s3.Client, bucket, prefix string) store.Store {
	b := &objects{cli: cli, bucket: bucket, prefix: prefix}
	if cli != nil {
		b.region = cli.Options().Region
	}
	return b
}

// objects are the objects in one bucket under one prefix.
type objects struct {
	cli            *s3.Client
	bucket, prefix string
	region         string // for messages
	date           date
}

// DefaultWindow is the window if the user sets none. See the package comment for its
// price.
func (o *objects) DefaultWindow() time.Duration { return defaultWindow }

// String names the bucket in messages.
func (o *objects) String() string {
	return fmt.Sprintf("bucket %q (region %q)", o.bucket, o.region)
}

// Time implements [store.Dated].
func (o *objects) Time() (now time.Time, within time.Duration, known bool) {
	return o.date.time(time.Now())
}

func (o *objects) Load(ctx context.Context, key string) (store.Entry, error) {
	e, _, err := o.read(ctx, key)
	return e, err
}

// read reads an object, and the value from the write that created it; "" if there is none.
func (o *objects) read(ctx context.Context, key string) (e store.Entry, write string, err error) {
	name, err := o.object("load", key)
	if err != nil {
		return e, "", err
	}
	var seen exchange
	out, err := o.cli.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.bucket, Key: &name}, o.observe(&seen))
	if err != nil {
		return e, "", o.fail("load", key, seen.cause(ctx, err))
	}
	body, err := io.ReadAll(io.LimitReader(out.Body, bodyMax+1))
	_ = out.Body.Close() // all that counts was read, or its error is returned
	switch {
	case err != nil:
		return e, "", o.fail("load", key, err)
	case len(body) > bodyMax:
		return e, "", fmt.Errorf(
			"s3: load %s: longer than %d bytes, so not a record; remove the object or use another prefix", o.where(key), bodyMax)
	case aws.ToString(out.ETag) == "":
		return e, "", fmt.Errorf("s3: load %s: %w", o.where(key), errNoETag)
	}
	e = store.Entry{Key: key, Body: body, Revision: store.Revision(*out.ETag)}
	e.Meta, write = decodeMeta(out.Metadata)
	return e, write, nil
}

// List implements [store.Store]. Entries have a revision but no body.
func (o *objects) List(ctx context.Context, prefix string) ([]store.Entry, error) {
	name, err := o.name("list", prefix)
	if err != nil {
		return nil, err
	}
	var found []store.Entry
	pages := s3.NewListObjectsV2Paginator(o.cli, &s3.ListObjectsV2Input{Bucket: &o.bucket, Prefix: &name})
	for pages.HasMorePages() {
		var seen exchange
		page, err := pages.NextPage(ctx, o.observe(&seen))
		if err != nil {
			return nil, o.fail("list", prefix, seen.cause(ctx, err))
		}
		for _, object := range page.Contents {
			if key, ok := strings.CutPrefix(aws.ToString(object.Key), o.prefix); ok {
				found = append(found, store.Entry{Key: key, Revision: store.Revision(aws.ToString(object.ETag))})
			}
		}
	}
	// Directory buckets list in no order.
	slices.SortFunc(found, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
	return found, nil
}

// object returns the object name for a key, or the error if there is none.
func (o *objects) object(op, key string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("s3: %s %s: the key is empty; name one record", op, o.where(key))
	}
	return o.name(op, key)
}

// name returns the object name or prefix for a key or prefix, or why there is none.
func (o *objects) name(op, key string) (string, error) {
	refused := func(why string) error {
		return failure.Errorf(sequencer.ErrInvalidConfig, "s3: %s %s: %s", op, o.where(key), why)
	}
	name := o.prefix + key
	switch {
	case o.cli == nil:
		return "", refused("no client; pass the s3.Client to New")
	case o.bucket == "":
		return "", refused("no bucket; pass its name to New")
	case len(name) > keyMax:
		return "", refused(fmt.Sprintf(
			"the object's name has %d bytes, and S3 allows %d; use a shorter prefix or sequencer name", len(name), keyMax))
	case !utf8.ValidString(name):
		return "", refused("the object's name is not UTF-8; use another prefix")
	}
	return name, nil
}

// where names an object in messages.
func (o *objects) where(key string) string {
	return fmt.Sprintf("%q in %v", o.prefix+key, o)
}

var errNoETag = errors.New("the response has no ETag; use a server with conditional writes")

package s3

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/signal"
)

const (
	conflictTries = 10 // consecutive 409 answers that one Swap accepts
	conflictPause = 20 * time.Millisecond
	conflictMost  = 500 * time.Millisecond
)

// Swap implements [store.Store].
//
// A 412 answer does not prove that nothing was written. If the answer to a request was lost and the
// SDK, or a proxy, sent it again, then the first request may have been carried out and have made
// the second one's condition false. So each write has a random value in the metadata, and after a
// 412 the object is read:
//
//   - it is this write: success;
//   - it is another write, and the only request sent was answered by 412: ErrChanged;
//   - it is another write, and the SDK sent more than one request: unknown, because an
//     earlier one may have been carried out and replaced since.
//
// A 409 answer means that two conditional writes met and this one was not carried out: it is sent
// again. A 404 answer to If-Match means that the object was deleted.
func (o *objects) Swap(ctx context.Context, e store.Entry) (store.Revision, error) {
	name, err := o.object("swap", e.Key)
	if err != nil {
		return "", err
	}
	if len(e.Body) == 0 || len(e.Body) > bodyMax {
		return "", fmt.Errorf("s3: swap %s: the body has %d bytes; a record has 1 to %d", o.where(e.Key),
			len(e.Body), bodyMax)
	}
	write := rand.Text()
	repeated := false // a request before the last one has an unknown outcome
	for tries := 1; ; tries++ {
		var seen exchange
		revision, err := o.put(ctx, name, write, e, &seen)
		if err == nil {
			return revision, nil
		}
		repeated = repeated || seen.requests > 1
		switch reason(err) {
		case preconditionFailed:
			return o.settle(ctx, e, write, repeated)
		case noObject:
			if repeated {
				return "", o.fail("swap", e.Key, err)
			}
			return "", fmt.Errorf("%w: %w", o.fail("swap", e.Key, err), store.ErrChanged)
		case conflict:
			if tries == conflictTries {
				return "", o.fail("swap", e.Key, err)
			}
		default:
			return "", o.fail("swap", e.Key, err)
		}
		d := min(conflictPause<<(tries-1), conflictMost) // half of it random
		if !signal.Sleep(ctx, d/2+mathrand.N(d/2)) {
			return "", o.fail("swap", e.Key, fmt.Errorf("%w: %w", err, ctx.Err()))
		}
	}
}

// put sends one conditional write. The SDK may repeat it; seen has the number.
func (o *objects) put(ctx context.Context, name, write string, e store.Entry, seen *exchange) (store.Revision, error) {
	in := &s3.PutObjectInput{
		Bucket:      &o.bucket,
		Key:         &name,
		Body:        bytes.NewReader(e.Body),
		ContentType: aws.String("application/json"),
		Metadata:    encodeMeta(e.Meta, write),
	}
	if e.Revision == "" {
		in.IfNoneMatch = aws.String("*")
	} else {
		in.IfMatch = aws.String(string(e.Revision))
	}
	out, err := o.cli.PutObject(ctx, in, o.observe(seen))
	if err != nil {
		return "", seen.cause(ctx, err)
	}
	if aws.ToString(out.ETag) == "" {
		return "", errNoETag
	}
	return store.Revision(*out.ETag), nil
}

// settle decides after the answer 412: see Swap.
func (o *objects) settle(ctx context.Context, e store.Entry, write string, repeated bool) (store.Revision, error) {
	have, wrote, err := o.read(ctx, e.Key)
	switch {
	case errors.Is(err, store.ErrNoRecord) && !repeated:
		return "", fmt.Errorf("%w: %w", err, store.ErrChanged)
	case err != nil:
		return "", fmt.Errorf("s3: swap %s: refused, and whether an earlier request was carried out is unknown: %w",
			o.where(e.Key), err)
	}
	sameWrite, sameBody := wrote == write, bytes.Equal(have.Body, e.Body)
	switch {
	case sameWrite && sameBody:
		return have.Revision, nil
	case have.Revision == e.Revision:
		return "",
			fmt.Errorf("s3: swap %s: refused with 412, but the object is at revision %s; use a server that compares ETags in "+
				"If-Match", o.where(e.Key), e.Revision)
	case sameWrite || sameBody && wrote == "":
		return "",
			fmt.Errorf("s3: swap %s: refused with 412, and the object has half of this write; use a server that keeps user "+
				"metadata", o.where(e.Key))
	case repeated:
		return "", fmt.Errorf(
			"s3: swap %s: a repeated request was refused; an earlier one may have been carried out and replaced", o.where(e.Key))
	}
	return "", fmt.Errorf("s3: swap %s: at revision %s, not %q: %w", o.where(e.Key), have.Revision, e.Revision,
		store.ErrChanged)
}

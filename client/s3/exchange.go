package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// exchange counts the requests in one SDK call, which may repeat a request, and keeps the last failure.
type exchange struct {
	requests int
	last     error // no response, or a status from 500
}

// cause returns a call's error. If the context ended while the SDK waited to repeat a request, the SDK drops that
// request's error, and cause adds it.
func (x *exchange) cause(ctx context.Context, err error) error {
	if x.last == nil || ctx.Err() == nil || errors.Is(err, x.last) {
		return err
	}
	return fmt.Errorf("%w: last request: %w", err, x.last)
}

// observe makes one call count its requests and sample the Date header in each response.
func (o *objects) observe(seen *exchange) func(*s3.Options) {
	each := func(ctx context.Context, in middleware.DeserializeInput,
		next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		seen.requests++
		sent := time.Now()
		out, meta, err := next.HandleDeserialize(ctx, in)
		if err != nil && ctx.Err() == nil {
			seen.last = err
		}
		if response, ok := out.RawResponse.(*smithyhttp.Response); ok && response != nil && response.Response != nil {
			arrived := time.Now()
			if response.StatusCode >= http.StatusInternalServerError {
				seen.last = fmt.Errorf("answered %s", response.Status)
			}
			if header, err := http.ParseTime(response.Header.Get("Date")); err == nil {
				o.date.sample(header, arrived, arrived.Sub(sent))
			}
		}
		return out, meta, err
	}
	return func(options *s3.Options) {
		options.APIOptions = append(options.APIOptions, func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("SnowgridExchange", each), middleware.After)
		})
	}
}

package s3

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/sequencer"
)

// refusal is the kind of a server's unsuccessful answer.
type refusal int

const (
	unknown            refusal = iota // no answer, or an answer that proves nothing
	preconditionFailed                // 412
	conflict                          // 409: two conditional writes met
	noObject                          // 404
	noBucket                          // 404, for the bucket
	forbidden                         // 403, except for an expired token or a clock
	elsewhere                         // 301: the bucket is in another region
	unsupported                       // 501: the server does not carry out conditions
	unresolved                        // not sent: the client lacks a region or an endpoint
)

// reason returns an SDK error's kind.
func reason(err error) refusal {
	var api smithy.APIError
	code := ""
	if errors.As(err, &api) {
		code = api.ErrorCode()
	}
	switch code {
	case "NoSuchBucket", "InvalidBucketName":
		return noBucket
	case "NoSuchKey":
		return noObject
	case "PreconditionFailed":
		return preconditionFailed
	case "ConditionalRequestConflict", "OperationAborted":
		return conflict
	case "PermanentRedirect", "AuthorizationHeaderMalformed":
		return elsewhere
	case "NotImplemented":
		return unsupported
	case "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccountProblem",
		"NotSignedUp", "XAdminUserNotFound": // the last one is of versitygw, with status 404
		return forbidden
	}
	if strings.Contains(err.Error(), "endpoint rule error") { // the SDK has no type for it
		return unresolved
	}
	var response *smithyhttp.ResponseError
	if !errors.As(err, &response) {
		return unknown
	}
	switch response.HTTPStatusCode() {
	case http.StatusPreconditionFailed:
		return preconditionFailed
	case http.StatusConflict:
		return conflict
	case http.StatusNotFound:
		return noObject
	case http.StatusMovedPermanently:
		return elsewhere
	case http.StatusNotImplemented:
		return unsupported
	}
	return unknown
}

// fail returns an operation's error, with its kind and a remedy.
func (o *objects) fail(op, key string, err error) error {
	where := o.where(key)
	switch reason(err) {
	case noObject:
		return failure.Errorf(store.ErrNoRecord, "s3: %s %s: no such object: %w", op, where, err)
	case noBucket:
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"s3: %s %s: no such bucket; create it, or correct its name or the client's region: %w", op, where, err)
	case forbidden:
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"s3: %s %s: not permitted; check the credentials, and allow s3:GetObject, s3:PutObject and s3:ListBucket: %w", op,
			where, err)
	case elsewhere:
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"s3: %s %s: the bucket is in another region; set the client's region: %w", op, where, err)
	case unresolved:
		return failure.Errorf(sequencer.ErrInvalidConfig, "s3: %s %s: set the client's region: %w", op, where, err)
	case unsupported:
		return failure.Errorf(sequencer.ErrInvalidConfig,
			"s3: %s %s: the server does not carry out conditional writes; use a server with them: %w", op, where, err)
	}
	return fmt.Errorf("s3: %s %s: %w", op, where, err)
}

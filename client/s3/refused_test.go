package s3

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestOpenRefused: what no wait repairs ends Open without a retry, with its remedy.
func TestOpenRefused(t *testing.T) {
	for _, c := range []struct {
		status      int
		code, says  string
		withoutArea bool
	}{
		{http.StatusNotFound, "NoSuchBucket", "no such bucket; create it", false},
		{http.StatusBadRequest, "InvalidBucketName", "no such bucket; create it, or correct its name", false},
		{http.StatusForbidden, "AccessDenied", "not permitted; check the credentials", false},
		{http.StatusForbidden, "InvalidAccessKeyId", "not permitted; check the credentials", false},
		{http.StatusForbidden, "SignatureDoesNotMatch", "not permitted; check the credentials", false},
		{http.StatusForbidden, "NotSignedUp", "not permitted; check the credentials", false},
		{http.StatusNotFound, "XAdminUserNotFound", "not permitted; check the credentials", false},
		{0, "", "set the client's region", true},
	} {
		t.Run(c.code, func(t *testing.T) {
			server, cli := startServer(t)
			server.before = func(*http.Request) (int, string) { return c.status, c.code }
			if c.withoutArea {
				cli = s3.New(s3.Options{Credentials: aws.AnonymousCredentials{}})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := store.Open(ctx, New(cli, "bucket", ""), store.Config{OnRetry: func(err error) {
				t.Errorf("Open waits for what no wait repairs: %v", err)
				cancel()
			}})
			if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open: %v, want %q", err, c.says)
			}
		})
	}
}

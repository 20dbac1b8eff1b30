package s3

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestCauseOfACallThatIsRepeated: a call whose context ends while the SDK waits to repeat it names the failure of its
// last request.
func TestCauseOfACallThatIsRepeated(t *testing.T) {
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer failing.Close()
	ended := httptest.NewServer(nil)
	ended.Close()
	for url, says := range map[string]string{failing.URL: "answered 503", ended.URL: "connection refused"} {
		cli := s3.New(s3.Options{Region: "r", BaseEndpoint: &url, UsePathStyle: true, Credentials: aws.AnonymousCredentials{},
			Retryer: slow{retry.NewStandard()}})
		for op, do := range map[string]func(context.Context, store.Store) error{
			"load": func(ctx context.Context, s store.Store) error { _, err := s.Load(ctx, "a"); return err },
			"list": func(ctx context.Context, s store.Store) error { _, err := s.List(ctx, "a"); return err },
			"swap": func(ctx context.Context, s store.Store) error {
				_, err := s.Swap(ctx, store.Entry{Key: "a", Body: []byte("{}")})
				return err
			},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			err := do(ctx, New(cli, "bucket", ""))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want %q and the end of the context", op, err, says)
			}
		}
	}
}

// slow waits for longer before a request is repeated than any context of a test lasts.
type slow struct{ *retry.Standard }

func (slow) RetryDelay(int, error) (time.Duration, error) { return time.Hour, nil }

// TestOpenWithWrongTLS: a certificate that the client does not trust, and a server without TLS, end Open with the
// settings to check.
func TestOpenWithWrongTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for url, says := range map[string]string{
		secure.URL: "certificate signed by unknown authority",
		strings.Replace(plain.URL, "http:", "https:", 1): "server gave HTTP response to HTTPS client",
	} {
		cli := s3.New(s3.Options{Region: "r", BaseEndpoint: &url, UsePathStyle: true, Credentials: aws.AnonymousCredentials{},
			Retryer: eager{}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := store.Open(ctx, New(cli, "bucket", ""), store.Config{})
		cancel()
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "; check the TLS settings") {
			t.Errorf("Open: %v, want %q", err, says)
		}
	}
}

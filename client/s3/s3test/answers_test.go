package s3test_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/faultproxy"
)

// link is a body that names the write it replaces, so that the last body tells which of all
// writes were carried out.
type link struct{ Nonce, Replaces string }

// outcomes are the nonces of writes by what Swap returned.
type outcomes struct {
	mu                        sync.Mutex
	written, changed, unknown []string
	replaces                  map[string]string // of every write that was tried
}

func (o *outcomes) add(l link, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.replaces[l.Nonce] = l.Replaces
	switch {
	case err == nil:
		o.written = append(o.written, l.Nonce)
	case errors.Is(err, store.ErrChanged):
		o.changed = append(o.changed, l.Nonce)
	default:
		o.unknown = append(o.unknown, l.Nonce)
	}
}

// ZH5: writers of one object behind proxies that forward requests and drop answers, with
// the retries of the SDK. Success means written, ErrChanged means not written.
func TestLostAnswersAreSettled(t *testing.T) {
	server := s3test.Start(t)
	const writers, writes = 4, 60
	all := &outcomes{replaces: map[string]string{}}
	var running sync.WaitGroup
	for w := range writers {
		proxy, err := faultproxy.Start(server.Addr)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close()
		proxy.Set(faultproxy.Fault{Lose: 0.3})
		options := s3test.Client(proxy.Addr()).Options()
		options.Retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxBackoff, o.RateLimiter = 5*time.Millisecond, ratelimit.None
		})
		s := s3.New(awss3.New(options), s3test.Bucket, "")
		running.Go(func() {
			for i := range writes {
				all.write(t, s, fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	running.Wait()

	e, err := s3.New(server.Client(), s3test.Bucket, "").Load(t.Context(), "chain")
	if err != nil {
		t.Fatal(err)
	}
	carriedOut := map[string]bool{}
	for nonce := decode(t, e.Body).Nonce; nonce != ""; nonce = all.replaces[nonce] {
		if carriedOut[nonce] {
			t.Fatalf("write %s replaces itself", nonce)
		}
		carriedOut[nonce] = true
	}
	for _, nonce := range all.written {
		if !carriedOut[nonce] {
			t.Errorf("Swap of %s returned no error, and it was not carried out", nonce)
		}
	}
	for _, nonce := range all.changed {
		if carriedOut[nonce] {
			t.Errorf("Swap of %s returned ErrChanged, and it was carried out", nonce)
		}
	}
	t.Logf("%d written, %d changed, %d unknown of %d; %d carried out", len(all.written), len(all.changed),
		len(all.unknown), writers*writes, len(carriedOut))
	if len(all.written) == 0 || len(all.changed) == 0 {
		t.Error("the test had no writes of one kind")
	}
}

// write reads the object and tries to replace it.
func (o *outcomes) write(t *testing.T, s store.Store, nonce string) {
	e, err := s.Load(t.Context(), "chain")
	if err != nil && !errors.Is(err, store.ErrNoRecord) {
		return // not tried
	}
	l := link{Nonce: nonce}
	if len(e.Body) > 0 {
		l.Replaces = decode(t, e.Body).Nonce
	}
	time.Sleep(rand.N(2 * time.Millisecond)) // so that writers meet
	body, _ := json.Marshal(l)
	_, err = s.Swap(t.Context(), store.Entry{Key: "chain", Body: body, Revision: e.Revision})
	o.add(l, err)
}

func decode(t *testing.T, body []byte) (l link) {
	if err := json.Unmarshal(body, &l); err != nil {
		t.Error(err)
	}
	return l
}

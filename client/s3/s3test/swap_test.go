package s3test_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/snowgrid/snowgrid/client/s3"
	"github.com/snowgrid/snowgrid/client/s3/s3test"
	"github.com/snowgrid/snowgrid/client/store"
)

// engines are the servers that every test of one store runs over.
func engines(t *testing.T, test func(t *testing.T, cli *awss3.Client)) {
	t.Run("gofakes3", func(t *testing.T) { test(t, fake(t)) })
	t.Run("versitygw", func(t *testing.T) { test(t, s3test.Start(t).Client()) })
}

// fake starts gofakes3 in this process.
func fake(t *testing.T) *awss3.Client {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(s3test.Bucket); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(server.Close)
	return s3test.Client(strings.TrimPrefix(server.URL, "http://"))
}

var body struct {
	sync.Mutex
	n int
}

// newBody returns a body that never recurs.
func newBody() []byte {
	body.Lock()
	defer body.Unlock()
	body.n++
	return fmt.Appendf(nil, `{"nonce":%d}`, body.n)
}

// Z12: the answers of a real server to conditions that do not hold.
func TestConditions(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		s := s3.New(cli, s3test.Bucket, "ids/")
		meta := map[string]string{"taskid": "zwölf", "version": "1", "acquirable": "true"}
		e := store.Entry{Key: "orders%2F1/0.json", Body: newBody(), Meta: meta}
		if _, err := s.Load(t.Context(), e.Key); !errors.Is(err, store.ErrNoRecord) {
			t.Fatalf("an object that does not exist: %v", err)
		}
		gone := e
		gone.Revision = `"d41d8cd98f00b204e9800998ecf8427e"`
		if _, err := s.Swap(t.Context(), gone); !errors.Is(err, store.ErrChanged) || !errors.Is(err, store.ErrNoRecord) {
			t.Errorf("If-Match of an object that does not exist: %v", err)
		}
		r1, err := s.Swap(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		have, err := s.Load(t.Context(), e.Key)
		if err != nil || have.Revision != r1 || !bytes.Equal(have.Body, e.Body) || fmt.Sprint(have.Meta) != fmt.Sprint(meta) {
			t.Errorf("wrote %+v at %s, read %+v, %v", e, r1, have, err)
		}
		if _, err := s.Swap(t.Context(), e); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a second create: %v", err)
		}
		e.Body, e.Revision = newBody(), r1
		r2, err := s.Swap(t.Context(), e)
		if err != nil || r2 == r1 {
			t.Fatalf("revision %s, then %s, %v", r1, r2, err)
		}
		e.Body = newBody()
		if _, err := s.Swap(t.Context(), e); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a stale revision: %v", err)
		}
	})
}

func TestRaces(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		s := s3.New(cli, s3test.Bucket, "")
		for i := range 50 {
			e := store.Entry{Key: fmt.Sprintf("races/%d", i)}
			for range 2 { // a create, and a swap
				var wg sync.WaitGroup
				won := make(chan store.Revision, 8)
				for range 8 {
					wg.Go(func() {
						mine := e
						mine.Body = newBody()
						r, err := s.Swap(t.Context(), mine)
						if err == nil {
							won <- r
						} else if !errors.Is(err, store.ErrChanged) {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if len(won) != 1 {
					t.Fatalf("%d winners of %q at %q", len(won), e.Key, e.Revision)
				}
				e.Revision = <-won
			}
		}
	})
}

// ZH2: the ETag is the MD5 of the body, so an empty body gives the revision of every other
// empty body. This is the hole of the original, and the reason for the nonce in each body.
func TestETagOfOneBodyRecurs(t *testing.T) {
	cli := s3test.Start(t).Client()
	put := func(body []byte, match *string) (*awss3.PutObjectOutput, error) {
		return cli.PutObject(t.Context(), &awss3.PutObjectInput{
			Bucket: aws.String(s3test.Bucket), Key: aws.String("k"), Body: bytes.NewReader(body), IfMatch: match,
		})
	}
	free, err := put(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := put(newBody(), free.ETag)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(nil, taken.ETag); err != nil { // returned
		t.Fatal(err)
	}
	if _, err := put(newBody(), free.ETag); err != nil {
		t.Errorf("a stale swap of an empty body was refused (%v): the server compares more than the ETag, and the comment "+
			"of package s3 is out of date", err)
	}

	// The same with bodies that never recur: refused.
	s := s3.New(cli, s3test.Bucket, "")
	e := store.Entry{Key: "nonces", Body: newBody()}
	var revisions []store.Revision
	for range 3 {
		r, err := s.Swap(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		revisions = append(revisions, r)
		e.Body, e.Revision = newBody(), r
	}
	for _, stale := range revisions[:2] {
		e.Revision = stale
		if _, err := s.Swap(t.Context(), e); !errors.Is(err, store.ErrChanged) {
			t.Errorf("a swap at %s of %v: %v", stale, revisions, err)
		}
	}
}

// ZH10: a listing has more than one page.
func TestListOfMoreThanAPage(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		s := s3.New(cli, s3test.Bucket, "ids/")
		const n = 1205
		var want []string
		var wg sync.WaitGroup
		limit := make(chan struct{}, 16)
		for i := range n {
			key := fmt.Sprintf("many/%d.json", i)
			want = append(want, key)
			limit <- struct{}{}
			wg.Go(func() {
				defer func() { <-limit }()
				if _, err := s.Swap(t.Context(), store.Entry{Key: key, Body: newBody()}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		slices.Sort(want)
		found, err := s.List(t.Context(), "many/")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range found {
			got = append(got, e.Key)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d keys, not %d", len(got), n)
		}
		for _, e := range []store.Entry{found[0], found[n-1]} {
			have, err := s.Load(t.Context(), e.Key)
			if err != nil || have.Revision != e.Revision {
				t.Errorf("%s is listed at %s and read at %s, %v", e.Key, e.Revision, have.Revision, err)
			}
		}
	})
}

func TestDateHeader(t *testing.T) {
	engines(t, func(t *testing.T, cli *awss3.Client) {
		s := s3.New(cli, s3test.Bucket, "")
		_, _ = s.Load(t.Context(), "k")
		if _, within, known := s.(store.Dated).Time(); !known || within <= 0 {
			t.Errorf("known %v within %v", known, within)
		}
	})
}

package s3

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/internal/signal"
)

// server is an S3 server in memory, of one bucket. It answers requests of the SDK without
// a socket, so it works in a bubble of testing/synctest.
type server struct {
	bucket string
	page   int              // keys in one page of a listing
	now    func() time.Time // of the Date header
	// before answers a request instead of the server, if the status is not 0.
	before func(r *http.Request) (status int, code string)
	// after drops the answer of a request that was carried out, if it returns true.
	after func(r *http.Request) bool
	delay atomic.Int64 // of each answer, in ns
	// ignores makes it carry out every write, whatever its condition.
	ignores bool

	mu       sync.Mutex
	objects  map[string]object
	requests []string // method and key
	created  []string // keys, in order
}

type object struct {
	body []byte
	head http.Header
}

// startServer returns a server and a client of it, with up to three attempts per call and
// no pause between them.
func startServer(t *testing.T) (*server, *s3.Client) {
	t.Helper()
	s := &server{bucket: "bucket", page: 1000, now: time.Now, objects: map[string]object{}}
	return s, s.client(nothing)
}

func (s *server) client(change func(*s3.Options)) *s3.Client {
	return s3.New(s3.Options{
		Region:       "eu-test-1",
		BaseEndpoint: aws.String("http://s3.test"),
		UsePathStyle: true,
		HTTPClient:   s,
		Retryer:      eager{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "key", SecretAccessKey: "secret"}, nil
		}),
	}, change)
}

func nothing(*s3.Options) {}

// eager repeats requests as the SDK's standard retryer does, without its pauses.
type eager struct{}

func (eager) IsErrorRetryable(err error) bool {
	return errors.Is(err, errLost) || reason(err) == unknown
}
func (eager) MaxAttempts() int                             { return 3 }
func (eager) RetryDelay(int, error) (time.Duration, error) { return 0, nil }
func (eager) GetInitialToken() func(error) error           { return func(error) error { return nil } }
func (eager) GetRetryToken(context.Context, error) (func(error) error, error) {
	return func(error) error { return nil }, nil
}

var errLost = errors.New("connection reset by the test")

// Do implements the SDK's HTTP client.
func (s *server) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if !signal.Sleep(r.Context(), time.Duration(s.delay.Load())) {
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	w.Header().Set("Date", s.now().UTC().Format(http.TimeFormat))
	status, code := 0, ""
	if s.before != nil {
		status, code = s.before(r)
	}
	if status != 0 {
		refuse(w, status, code)
	} else {
		s.ServeHTTP(w, r)
	}
	if s.after != nil && s.after(r) {
		return nil, errLost
	}
	return w.Result(), nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	s.requests = append(s.requests, r.Method+" "+key)
	switch {
	case bucket != s.bucket:
		refuse(w, http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodGet && key == "":
		s.list(w, r.URL.Query())
	case r.Method == http.MethodGet:
		s.get(w, key)
	case r.Method == http.MethodPut:
		s.put(w, r, key)
	default:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func (s *server) get(w http.ResponseWriter, key string) {
	have, ok := s.objects[key]
	if !ok {
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	maps.Copy(w.Header(), have.head)
	_, _ = w.Write(have.body)
}

func (s *server) put(w http.ResponseWriter, r *http.Request, key string) {
	have, ok := s.objects[key]
	match := r.Header.Get("If-Match")
	switch {
	case s.ignores:
	case r.Header.Get("If-None-Match") == "*" && ok:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	case match != "" && !ok:
		refuse(w, http.StatusNotFound, "NoSuchKey")
		return
	case match != "" && have.head.Get("ETag") != match:
		refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	sum := md5.Sum(body)
	head := http.Header{"Content-Type": r.Header["Content-Type"], "Etag": {`"` + hex.EncodeToString(sum[:]) + `"`}}
	for k, v := range r.Header {
		if strings.HasPrefix(k, "X-Amz-Meta-") {
			head[k] = v
		}
	}
	if !ok {
		s.created = append(s.created, key)
	}
	s.objects[key] = object{body: body, head: head}
	w.Header().Set("ETag", head.Get("ETag"))
}

func (s *server) list(w http.ResponseWriter, q url.Values) {
	type contents struct{ Key, ETag string }
	type result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		Contents              []contents
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
	}
	var out result
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		if !strings.HasPrefix(key, q.Get("prefix")) || key <= q.Get("continuation-token") {
			continue
		}
		if len(out.Contents) == s.page {
			out.IsTruncated = true
			out.NextContinuationToken = out.Contents[s.page-1].Key
			break
		}
		out.Contents = append(out.Contents, contents{key, s.objects[key].head.Get("ETag")})
	}
	text, err := xml.Marshal(out)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(text)
}

// write puts an object behind the store's back.
func (s *server) write(key string, body []byte, meta map[string]string) {
	r := httptest.NewRequest(http.MethodPut, "/"+s.bucket+"/"+key, bytes.NewReader(body))
	for k, v := range meta {
		r.Header.Set("X-Amz-Meta-"+k, v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(httptest.NewRecorder(), r, key)
}

func (s *server) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// counts returns the numbers of PUTs, GETs of objects and listings since the last count.
func (s *server) counts() (puts, gets, lists int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		switch method, key, _ := strings.Cut(r, " "); {
		case method == http.MethodPut:
			puts++
		case key == "":
			lists++
		default:
			gets++
		}
	}
	s.requests = nil
	return puts, gets, lists
}

// count returns the number of requests of a method since the last count.
func (s *server) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.requests {
		if strings.HasPrefix(r, method+" ") {
			n++
		}
	}
	s.requests = nil
	return n
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>of the test</Message></Error>", code)
}

// nonces makes bodies that never recur.
var nonces struct {
	sync.Mutex
	n int
}

func newBody() []byte {
	nonces.Lock()
	defer nonces.Unlock()
	nonces.n++
	return fmt.Appendf(nil, `{"nonce":%d}`, nonces.n)
}

func mustSwap(t *testing.T, s store.Store, e store.Entry) store.Revision {
	t.Helper()
	r, err := s.Swap(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

package api

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/librarylog"
	"github.com/snowgrid/snowgrid/grid/internal/state"
	"github.com/snowgrid/snowgrid/grid/internal/tenure"
	"github.com/snowgrid/snowgrid/internal/handles"
	"github.com/snowgrid/snowgrid/internal/membership"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/security"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const testSelf = "aaaaaaaaaaaaaaaa-0000000000000001"

// callers are the peers of the tests, by the common name of their certificates.
var callers = map[string]security.Peer{
	"stranger": {Name: "stranger", ID: "cert:stranger"},
	"reader":   {Role: security.Reader, Name: "reader", ID: "cert:reader"},
	"holder":   {Role: security.Holder, Name: "holder", ID: "cert:holder"},
	"orders":   {Role: security.Holder, Name: "orders", ID: "cert:orders", Names: []security.Pattern{"orders-*"}},
	"admin":    {Role: security.Admin, Name: "admin", ID: "cert:admin"},
	"member":   {Role: security.Member, Name: "member", ID: "cert:member"},
}

// certificate is the common name of a caller, "" for a connection without one.
type certificate string

func (c certificate) Peer() (security.Peer, error) {
	if p, known := callers[string(c)]; known || c == "" {
		return p, nil
	}
	return security.Everyone(), fmt.Errorf("%w: certificate of %s", security.ErrUnauthenticated, string(c))
}

// tokens are the names of callers.
type tokens struct{}

func (tokens) Peer(token string) (security.Peer, error) {
	if p, known := callers[token]; known {
		return p, nil
	}
	return security.Everyone(), fmt.Errorf("%w: token %q", security.ErrUnauthenticated, token)
}

// secured returns a server with security, which serves the calls.
func secured(lines *audit.Log, calls ...*Call) *Server {
	clock := handles.NewClock()
	return New(Config{
		Self: testSelf, Grid: func() roster.GridID { return roster.GridID{1} }, State: state.New(clock, clock),
		Life: tenure.NewLife(), Log: slog.New(slog.DiscardHandler),
		Library: librarylog.New(slog.New(slog.DiscardHandler), nil), Security: &security.Credentials{}, Tokens: tokens{},
		Audit: lines, Status: func(context.Context) (any, error) { return wire.Done{}, nil },
		NotReady: func() error { return nil }, NotSettled: func() error { return nil }, Paths: membershipPaths(),
	}, NewEvents(), calls)
}

// membershipPaths returns the paths under /membership, with empty answers.
func membershipPaths() []membership.Path {
	paths := membership.Paths(nil, true)
	for i := range paths {
		paths[i].Local = false
		paths[i].Serve = func(context.Context, []byte) (any, func(), error) { return wire.Done{}, nil, nil }
	}
	return paths
}

// served returns a call that only answers.
func served[In any](path string) *Call {
	return Typed(path, func(context.Context, In) (wire.Done, error) { return wire.Done{}, nil })
}

// allCalls returns a call for each path of a member.
func allCalls() []*Call {
	return []*Call{
		served[wire.CreateRequest](wire.PathCreate), served[wire.OpenRequest](wire.PathOpen),
		served[wire.AttachRequest](wire.PathAttach),
		served[wire.RenewRequest](wire.PathRenew), served[wire.DetachRequest](wire.PathDetach),
		served[wire.DestroyRequest](wire.PathDestroy),
		served[wire.DirectoryRequest](wire.PathDirectory), served[wire.StatusRequest](wire.PathStatus),
		served[wire.IDsRequest](wire.PathIDs),
		AlsoGet(served[wire.SequencersRequest](wire.PathSequencers),
			func(url.Values) (in wire.SequencersRequest, err error) { return }),
		AlsoGet(served[wire.HoldersRequest](wire.PathHolders), func(q url.Values) (in wire.HoldersRequest, err error) {
			in.Name = q.Get("name")
			return
		}),
		AlsoGet(served[wire.IdentityListRequest](wire.PathIdentity),
			func(url.Values) (in wire.IdentityListRequest, err error) { return }),
		served[wire.IdentityNextRequest](wire.PathIdentityNext),
		served[wire.IdentityApplyRequest](wire.PathIdentityApply),
		served[wire.IdentityRegisterRequest](wire.PathIdentityRegister),
		served[wire.IdentityCleanRequest](wire.PathIdentityClean), served[wire.IdentityDropRequest](wire.PathIdentityDrop),
		served[wire.IdentityImportRequest](wire.PathIdentityImport),
		served[wire.SettingsRequest](wire.PathSettings), served[wire.KeyringRequest](wire.PathKeyring),
		served[wire.ForgetRequest](wire.PathForget).ForTarget(), served[wire.RemoveRequest](wire.PathRemove).ForTarget(),
		served[wire.TakeRequest](wire.PathTake).ForTarget(), served[wire.InitRequest](wire.PathInit).ForTarget(),
		served[wire.HelloRequest](wire.PathHello).ForTarget(), served[wire.PushRequest](wire.PathPush).ForMembers(),
		served[wire.FollowRequest](wire.PathFollow).ForMembers(), served[wire.AcceptRequest](wire.PathAccept).ForTarget(),
		served[wire.DismissRequest](wire.PathDismiss).ForTarget(), served[wire.AbandonRequest](wire.PathAbandon).ForTarget(),
		served[wire.JoinRequest](wire.PathJoin).ForMembers(), served[wire.LeaveRequest](wire.PathLeave).ForMembers(),
		served[wire.EarlierRequest](wire.PathEarlier).ForMembers(),
		served[member.ReplicateRequest](wire.PathReplicate).ForMembers(),
		served[wire.HeldRequest](wire.PathHeld).ForMembers(), served[member.StoredRequest](wire.PathStored).ForMembers(),
		served[wire.SetKeysRequest](wire.PathSetKeys).ForMembers(),
		served[member.CollectRequest](wire.PathCollect).ForMembers(), served[wire.CountRequest](wire.PathCount).ForMembers(),
		served[wire.UnusedRequest](wire.PathUnused),
		served[wire.GrantRequest](wire.PathGrants).Deleting(served[wire.GrantRelease](wire.PathGrants)),
		served[wire.RelayCreateRequest](wire.PathRelayCreate).ForMembers(),
		served[wire.RelayGrantRequest](wire.PathRelayGrant).ForMembers(),
		served[wire.RelayGrantRequest](wire.PathRelayRenewal).ForMembers(),
	}
}

// unread fails the test if a request's body is read.
type unread struct{ t *testing.T }

func (b unread) Read([]byte) (int, error) { b.t.Error("the body was read"); return 0, io.EOF }
func (b unread) Close() error             { return nil }

// call sends a request of a caller with all headers of a call between members, and returns
// the answer.
func (a *Server) call(t *testing.T, as, method, path string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	return a.send(t, as, "", method, path, body)
}

// connectedAs returns the context of a connection with the certificate of a caller.
func connectedAs(ctx context.Context, as string) context.Context {
	near, far := net.Pipe()
	_, _ = near.Close(), far.Close()
	ctx = withConnection(ctx, near)
	c := ctx.Value(connectionKey{}).(*connection)
	c.who = certificate(as)
	return ctx
}

// send is call with an Authorization header.
func (a *Server) send(t *testing.T, as, authorization, method, path string, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(connectedAs(t.Context(), as))
	defer cancel()
	if path == wire.PathEvents { // a stream ends with its caller alone
		defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
	}
	r := httptest.NewRequestWithContext(ctx, method, path, body)
	r.TLS, r.RemoteAddr, r.Host = &tls.ConnectionState{}, "127.0.0.1:5", "127.0.0.1:7948"
	r.Header.Set("Content-Type", wire.JSON)
	r.Header.Set(wire.HeaderTarget, testSelf)
	r.Header.Set(wire.HeaderGrid, roster.GridID{1}.String())
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, r)
	return w
}

// codeOf returns the code of an error in an answer.
func codeOf(w *httptest.ResponseRecorder) string {
	var e wire.Error
	_ = json.Unmarshal(w.Body.Bytes(), &e)
	return e.Code
}

// TestEveryRoleAtEveryPath: each caller may call the paths of the actions of its role and of
// those below it; a call that is denied is refused before its body is read.
func TestEveryRoleAtEveryPath(t *testing.T) {
	a := secured(nil, allCalls()...)
	rank := []security.Role{security.NoRole, security.Reader, security.Holder, security.Admin, security.Member}
	for key, row := range accesses {
		method, path, _ := strings.Cut(key, " ")
		least, known := security.Least(row.action)
		if !known {
			t.Errorf("%s: the action %q is not in the table of package security", key, row.action)
		}
		for _, as := range []string{"", "expired", "stranger", "reader", "holder", "orders", "admin", "member"} {
			allowed := slices.Index(rank, callers[as].Role) >= slices.Index(rank, least)
			body := io.Reader(unread{t})
			if allowed {
				body = strings.NewReader(`{"holder":"h","name":"orders-1"}`)
				if method == http.MethodGet {
					body = nil
				}
			}
			w, want := a.call(t, as, method, path, body), "denied"
			if callers[as].ID == "" {
				want = "unauthenticated"
			}
			if got := codeOf(w); allowed == (got == "denied" || got == "unauthenticated") || !allowed && got != want ||
				w.Code == http.StatusNotFound {
				t.Errorf("%s as %q: %d %s, allowed: %v", key, as, w.Code, w.Body, allowed)
			}
			challenge := w.Header().Get("WWW-Authenticate")
			if (w.Code == http.StatusUnauthorized) != strings.HasPrefix(challenge, "Bearer") {
				t.Errorf("%s as %q: %d with WWW-Authenticate %q", key, as, w.Code, challenge)
			}
		}
	}
}

// TestCallersByHand states some of the table again, so that an error there is noticed.
func TestCallersByHand(t *testing.T) {
	a := secured(nil, allCalls()...)
	for _, test := range []struct {
		as, method, path, body string
		want                   int
	}{
		{"", "GET", "/livez", "", 200},
		{"", "GET", "/readyz", "", 200},
		{"", "GET", "/", "", 200},
		{"", "HEAD", "/livez", "", 200},
		{"", "GET", "/v1/status", "", 401},
		{"", "HEAD", "/v1/status", "", 401},
		{"expired", "GET", "/livez", "", 200},
		{"expired", "GET", "/v1/status", "", 401},
		{"stranger", "POST", "/v1/directory", "{}", 403},
		{"reader", "GET", "/v1/status", "", 200},
		{"reader", "HEAD", "/v1/status", "", 200},
		{"reader", "POST", "/v1/directory", "{}", 200},
		{"reader", "POST", "/v1/attach", "{}", 403},
		{"reader", "POST", "/v1/ids", `{"name":"orders-1"}`, 403},
		{"reader", "POST", "/v1/settings", `{}`, 200},
		{"reader", "POST", "/v1/settings", `{"voters":3}`, 403},
		{"holder", "POST", "/v1/settings", `{"backups":0}`, 403},
		{"admin", "POST", "/v1/settings", `{"backups":0}`, 200},
		{"holder", "POST", "/v1/create", `{"name":"a"}`, 200},
		{"holder", "POST", "/v1/destroy", `{"name":"a"}`, 403},
		{"holder", "POST", "/v1/member/init", `{"force":true}`, 403},
		{"holder", "POST", "/v1/member/forget", `{}`, 403},
		{"holder", "POST", "/v1/member/hello", `{}`, 403},
		{"holder", "POST", "/membership/unsubscribe", ``, 403},
		{"holder", "POST", "/membership/debug/shutdown", ``, 403},
		{"admin", "POST", "/v1/destroy", `{"name":"a"}`, 200},
		{"admin", "POST", "/v1/member/init", `{"force":true}`, 200},
		{"admin", "POST", "/v1/member/leave", `{}`, 403},
		{"admin", "POST", "/v1/member/replicate", `{}`, 403},
		{"member", "POST", "/v1/member/leave", `{}`, 200},
		{"orders", "POST", "/v1/create", `{"name":"orders-1"}`, 200},
		{"orders", "POST", "/v1/create", `{"name":"bills-1"}`, 403},
		{"orders", "POST", "/v1/create", `{"name":"orders-1","attach":{"holder":"h"}}`, 200},
		{"orders", "POST", "/v1/create", `{"name":"bills-1","attach":{"holder":"h"}}`, 403},
		{"reader", "POST", "/v1/create", `{"name":"orders-1","attach":{"holder":"h"}}`, 403},
		{"admin", "POST", "/v1/member/create", `{"create":{"name":"a"}}`, 403},
		{"member", "POST", "/v1/member/create", `{"create":{"name":"a"}}`, 200},
		{"orders", "POST", "/v1/open", `{"name":"bills-1"}`, 403},
		{"orders", "POST", "/v1/attach", `{"holder":"h","claim":{"sequencer":{"name":"bills-1"}}}`, 403},
		{"orders", "POST", "/v1/detach", `{"holder":"h","sequencer":{"name":"bills-1"}}`, 403},
		{"orders", "POST", "/v1/ids", `{"name":"orders-1","create":{}}`, 200},
		{"orders", "POST", "/v1/ids", `{"name":"bills-1"}`, 403},
		{"orders", "GET", "/v1/holders?name=bills-1", ``, 403},
		{"orders", "GET", "/v1/holders?name=orders-1", ``, 200},
		{"orders", "POST", "/v1/holders", `{"name":"bills-1"}`, 403},
		{"orders", "GET", "/v1/status", ``, 200},
	} {
		if w := a.call(t, test.as, test.method, test.path, strings.NewReader(test.body)); w.Code != test.want {
			t.Errorf("%s %s %s as %q: %d %s, want %d", test.method, test.path, test.body, test.as, w.Code, w.Body, test.want)
		}
	}
}

// TestPathWithoutARowIsRefused: to every caller, and without security too.
func TestPathWithoutARowIsRefused(t *testing.T) {
	a := secured(nil, served[wire.OpenRequest]("/v1/new"))
	for _, as := range []string{"", "holder", "admin", "member"} {
		if w := a.call(t, as, http.MethodPost, "/v1/new", unread{t}); codeOf(w) != "denied" {
			t.Errorf("as %q: %d %s", as, w.Code, w.Body)
		}
	}
	a.cfg.Security = nil
	if w := a.call(t, "", http.MethodPost, "/v1/new", unread{t}); codeOf(w) != "denied" {
		t.Errorf("without security: %d %s", w.Code, w.Body)
	}
	if w := a.call(t, "", http.MethodPost, "/v1/open", nil); w.Code != http.StatusNotFound {
		t.Errorf("a path that is not served: %d %s", w.Code, w.Body)
	}
}

// TestEachNameOfARequestIsAuthorized: the last of several is, too.
func TestEachNameOfARequestIsAuthorized(t *testing.T) {
	accesses[onPost("/v1/several")] = access{action: security.Open, uses: usesOf(func(in wire.OpenRequest) (out []use) {
		for name := range strings.SplitSeq(in.Name, " ") {
			out = append(out, use{security.Open, name})
		}
		return out
	})}
	defer delete(accesses, onPost("/v1/several"))
	a := secured(nil, served[wire.OpenRequest]("/v1/several"))
	for names, want := range map[string]int{"orders-1 orders-2": 200, "orders-1 bills-1": 403, "bills-1 orders-1": 403} {
		if w := a.call(t, "orders", http.MethodPost, "/v1/several",
			strings.NewReader(`{"name":"`+names+`"}`)); w.Code != want {
			t.Errorf("%s: %d %s, want %d", names, w.Code, w.Body, want)
		}
	}
}

// TestEveryActionIsUsed: each action of package security is that of a path, or of the code
// that is named here.
func TestEveryActionIsUsed(t *testing.T) {
	used := map[security.Action]bool{
		security.Settings: true, // settingsUses
		security.Recover:  true, // snowgrid recover, on the disks of a grid that does not run
		security.Raft:     true, // grid/internal/transport
		security.Gossip:   true, // by its keys
	}
	for _, row := range accesses {
		used[row.action] = true
	}
	for _, action := range security.Actions() {
		if !used[action] {
			t.Errorf("%s: no path has this action", action)
		}
		delete(used, action)
	}
	for action := range used {
		t.Errorf("%s: not an action of package security", action)
	}
	if !errors.Is(security.Authorize(security.Everyone(), "new", ""), security.ErrDenied) {
		t.Error("an action that is not in the table is allowed")
	}
}

package grid_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/long"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// TestAttackByOtherWaysToAPath: no spelling of a path, method or header leads to a call
// past the check of its caller.
func TestAttackByOtherWaysToAPath(t *testing.T) {
	long.Only(t, "it takes seconds")
	underAttack(t, true, func(t *testing.T, b *besieged) {
		owner := b.g.OwnerOf(victimName)
		m := b.target(owner)
		body := []byte(`{"name":"` + victimName + `"}`)
		believed := http.Header{ // headers by which a proxy or a member might name its caller
			"Content-Type": {wire.JSON}, wire.HeaderTarget: {string(m.Member)}, wire.HeaderGrid: {m.Grid},
			"X-Forwarded-For": {"127.0.0.1"}, "Forwarded": {"for=127.0.0.1"}, "X-Real-Ip": {"127.0.0.1"},
			"X-Forwarded-Client-Cert": {"URI=spiffe://snowgrid/role/member"}, "X-Ssl-Client-S-Dn": {"CN=m1"},
			"X-Client-Cert": {"m1"},
			"Snowgrid-Peer": {"member"}, "Snowgrid-Role": {"member"}, "Snowgrid-Who": {"member"},
		}
		for _, a := range b.attackers {
			if a.Role == security.Admin {
				continue // it may destroy, though not this name: see TestAttackAnothersName
			}
			for _, path := range []string{
				wire.PathDestroy, wire.PathDestroy + "/", "/" + wire.PathDestroy, "/v1//destroy", "/v1/./destroy",
				"/v1/member/../destroy",
				"/V1/DESTROY", "/v1/destroy%2f", "/v1/%64estroy", wire.PathDestroy + "?x=1", wire.PathDestroy + ";x",
				"//v1/destroy", "/livez/../v1/destroy",
			} {
				for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut, http.MethodDelete,
					http.MethodPatch, http.MethodHead, http.MethodOptions, "post", "BREW"} {
					if _, err := a.Do(t.Context(), m.API, method, path, believed, body); err == nil {
						t.Errorf("%s: %s of %s is served", a.Name, method, path)
					}
				}
			}
			for _, host := range []string{"127.0.0.1:7948", "localhost", "member.snowgrid", "evil"} {
				header := believed.Clone()
				header.Set("Host", host)
				if _, err := a.Do(t.Context(), m.API, http.MethodPost, wire.PathDestroy, header, body); !a.IsRefusal(err) {
					t.Errorf("%s: host %s: %v", a.Name, host, err)
				}
			}
			for _, auth := range []string{"Bearer ", "Bearer x", "Bearer " + unsignedToken, "Basic YWRtaW46YWRtaW4=",
				"bearer null"} {
				header := believed.Clone()
				header.Set("Authorization", auth)
				_, err := a.Do(t.Context(), m.API, http.MethodPost, wire.PathDestroy, header, body)
				if !a.IsRefusal(err) && !isUnauthenticated(err) {
					t.Errorf("%s: authorization %q: %v", a.Name, auth, err)
				}
			}
		}
		b.withstood("other ways to a path")
	})
}

// TestAttackPathsWithoutACheck: every path that the API lists is refused to a caller without
// identity, but for those that tell whether the process is alive and ready.
func TestAttackPathsWithoutACheck(t *testing.T) {
	underAttack(t, true, func(t *testing.T, b *besieged) {
		open := map[string]bool{"/": true, "/livez": true, "/readyz": true, wire.PathSettled: false}
		var index wire.IndexResponse
		text, err := b.identified(security.Reader).Do(t.Context(), b.target("m1").API, http.MethodGet, "/",
			http.Header{"Accept": {wire.JSON}}, nil)
		if err == nil {
			err = json.Unmarshal(text, &index)
		}
		if err != nil || len(index.Paths) < 30 {
			t.Errorf("%d paths are listed: %v", len(index.Paths), err)
		}
		anonymous := b.attackers[1]
		for _, p := range index.Paths {
			for _, method := range append(p.Methods, http.MethodHead) {
				if strings.HasPrefix(p.Path, "/membership/debug/") || open[p.Path] || method == http.MethodHead &&
					!slices.Contains(p.Methods, http.MethodGet) {
					continue
				}
				_, err := anonymous.Do(t.Context(), b.target("m1").API, method, p.Path, http.Header{"Content-Type": {wire.JSON}},
					[]byte("{}"))
				if method == http.MethodHead {
					if err == nil {
						t.Errorf("HEAD %s is served without identity", p.Path)
					}
				} else if !isUnauthenticated(err) {
					t.Errorf("%s %s without identity: %v", method, p.Path, err)
				}
			}
		}
		for path := range open { // they are for probes, which have no certificate
			if _, err := anonymous.Do(t.Context(), b.target("m1").API, http.MethodGet, path, nil, nil); open[path] &&
				err != nil {
				t.Errorf("%s without identity: %v", path, err)
			}
		}
		b.withstood("every path without identity")
	})
}

func isUnauthenticated(err error) bool { return errors.Is(err, security.ErrUnauthenticated) }

// unsignedToken states the role of an admin, and has no signature.
var unsignedToken = base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT","kid":"1"}`)) + "." +
	base64.RawURLEncoding.EncodeToString(
		[]byte(`{"sub":"evil","aud":"snowgrid","role":"admin","exp":4102444800,"jti":"1"}`)) + "."

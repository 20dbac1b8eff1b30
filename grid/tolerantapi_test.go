package grid_test

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/internal/wire/member"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestRequestsOfALaterVersion: a newer client or member may add a field to any request
// in msgpack, and is answered as before. In JSON a person has misspelled it. On a busy machine the grid may be
// without a leader when one of the two requests is sent, and both are sent again.
func TestRequestsOfALaterVersion(t *testing.T) {
	t.Parallel()
	m := startOne(t, nil)
	b := newBrowser(t, m, 2)
	requests := maps.Clone(valid)
	requests[wire.PathReplicate] = member.ReplicateRequest{Partition: 1, Version: 1,
		Position: backup.Position{Term: 1, Number: 1}}
	delete(requests, wire.PathEvents)  // its answer does not end
	delete(requests, wire.PathDestroy) // a second one finds nothing
	delete(requests, wire.PathLeave)   // the member would leave
	for _, path := range slices.Sorted(maps.Keys(requests)) {
		in := requests[path]
		body, err := wire.Encode(wire.MsgPack, in)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := msgpack.Unmarshal(body, &fields); err != nil {
			t.Fatal(err)
		}
		fields["added_later"] = map[string]any{"deep": []any{1, "x", nil}}
		within(t, apiPatience, path+" with a field added is answered as without it", func() bool {
			status, plain := b.post(path, wire.MsgPack, in)
			got, answer := b.post(path, wire.MsgPack, fields)
			same := got == status && codeOf(answer) == codeOf(plain)
			if !same && status != http.StatusServiceUnavailable && got != http.StatusServiceUnavailable {
				t.Errorf("%s: status %d %.200q, with a field added %d %.200q", path, status, plain, got, answer)
			}
			return same || t.Failed()
		})
		if !strings.HasPrefix(path, "/v1/member/") {
			status, _, answer := b.send(http.MethodPost, path, wire.JSON, bytes.NewReader([]byte(`{"added_later":1}`)))
			if code := refused(t, path, status, wire.JSON, answer); code != "bad_request" ||
				!strings.Contains(string(answer), "added_later") {
				t.Errorf("%s: a misspelled field: %d %s", path, status, answer)
			}
		}
	}
	serves(t, m)
}

// codeOf returns the error code of an answer in msgpack, "" if it is none.
func codeOf(answer []byte) string {
	var e wire.Error
	_ = wire.DecodeTolerant(wire.MsgPack, answer, &e)
	return e.Code
}

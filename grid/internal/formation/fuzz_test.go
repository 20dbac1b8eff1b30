package formation

import (
	"encoding/json"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/internal/identity"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// FuzzIdentityFile: an accepted identity is equal after it is written and read again.
func FuzzIdentityFile(f *testing.F) {
	id := &Identity{Member: "0123456789abcdef", Grid: roster.GridID{1}, Forming: true,
		Accepted: Attempt{BootstrapMember: "fedcba9876543210", Grid: roster.GridID{1}}}
	for _, id := range []*Identity{id, {Member: "0123456789abcdef"}} {
		data, err := durable.Seal(storedIdentity{identity.Format, *id})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, content := range []string{`{}`, `{"format":1}`, `{"format":2}`,
		`{"format":1,"member":"0123456789abcdef","more":[{}]}`} {
		data, err := durable.Seal(json.RawMessage(content))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id, again storedIdentity
		if identity.Decode(data, &id) != nil {
			return
		}
		kept, err := durable.Seal(&id)
		if err != nil {
			t.Fatal(err)
		}
		if err := identity.Decode(kept, &again); err != nil || !reflect.DeepEqual(again, id) {
			t.Errorf("%q is %+v, and kept as %q %+v, %v", data, id, kept, again, err)
		}
	})
}

// TestDecodersAllocateInProportion: what announces more than it brings costs no
// more memory than what it brings. Those of the API are looked at in package wire.
func TestDecodersAllocateInProportion(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for what, decode := range map[string]func(){
		"identity": func() { _ = identity.Decode([]byte(`{"content":{"member":"`+long+`"},"crc32":5}`), &storedIdentity{}) },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decode()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*uint64(len(long)) {
			t.Errorf("%s: %d bytes of memory for %d", what, n, len(long))
		}
	}
}

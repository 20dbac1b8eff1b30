package host

import (
	"fmt"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestHolderBookIsBounded: what holders state takes bounded memory, and is forgotten when
// they are silent.
func TestHolderBookIsBounded(t *testing.T) {
	var b holderBook
	id := func(i int) attachment.HolderID { return attachment.HolderID(fmt.Sprintf("%032d", i)) }
	h := holder{about: wire.About{Build: "v1", Labels: map[string]string{"host": "web"}}, addr: "10.0.0.1:1"}
	fits := bookBytes / h.size(id(0))
	for i := range fits + 100 {
		b.note(time.Second, id(i), h)
	}
	if b.bytes > bookBytes || len(b.holders) != fits {
		t.Fatalf("%d holders in %d bytes, want %d in at most %d", len(b.holders), b.bytes, fits, bookBytes)
	}
	for range 10 { // the same holder again takes no more
		b.note(2*time.Second, id(0), h)
	}
	if got, known := b.of(id(0)); !known || got.about.Labels["host"] != "web" || len(b.holders) != fits {
		t.Errorf("%+v, %v; %d holders", got, known, len(b.holders))
	}
	b.note(3*bookKeeps, id(1), h)
	if _, known := b.of(id(0)); known || len(b.holders) != 1 || b.bytes != h.size(id(1)) {
		t.Errorf("%d holders in %d bytes are left", len(b.holders), b.bytes)
	}
}

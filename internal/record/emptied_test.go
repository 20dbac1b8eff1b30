package record

import (
	"testing"

	"github.com/snowgrid/snowgrid/internal/attachment"
)

// TestEmptyBodyWaitsAfterOtherSteps is Q2: a record that another program released has no bound. Its next grant
// waits for the quarantine, also if the record was retired, enlisted or closed before.
func TestEmptyBodyWaitsAfterOtherSteps(t *testing.T) {
	first, second := NewLife(1, [8]byte{1}), NewLife(2, [8]byte{2})
	must := func(r Record, _ bool, err error) Record {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	empty, err := Decode(nil, map[string]string{MetaVersion: "7"})
	if err != nil {
		t.Fatal(err)
	}
	retired := must(empty.Retire(first, "a"))
	enlisted, err := empty.Enlist(first, "a")
	if err != nil {
		t.Fatal(err)
	}
	ended := must(must(retired.Restore(first, "b")).Close(first, "c"))
	for name, c := range map[string]struct {
		record Record
		life   attachment.Life
	}{
		"empty":    {empty, first},
		"retired":  {must(retired.Restore(first, "b")), first},
		"enlisted": {must(enlisted.Restore(first, "b")), first},
		"closed":   {must(empty.Close(first, "a")), second},
		"all":      {must(ended.Close(second, "d")), NewLife(3, [8]byte{3})},
	} {
		b := Bounds{Now: 1000, Window: 100, Life: c.life, Quarantine: 500}
		got, err := c.record.Take(attachment.ID{1}, "task", "n", b)
		if err != nil || got.From != 1500 {
			t.Errorf("%s: from %d, not 1500: %v", name, got.From, err)
		}
		if back, err := Decode(got.Encode(), got.Meta()); err != nil || back.Generation != "" {
			t.Errorf("%s: %+v: %v", name, back, err)
		}
	}
}

package history

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"
)

// written is a history of everything there is, and its bytes.
func written(t *testing.T) (ops []Op, text []byte, whole []int) {
	t.Helper()
	var out bytes.Buffer
	at := time.Duration(0)
	w := NewWriter(&out, func() time.Duration { at += 7 * time.Second; return at })
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, out.Len())
	}
	runs := AppendRuns(nil, 1<<40, 1<<40+1, 1<<40+2, 1<<41, 5)
	create, err := w.Call(Create, "orders", 1)
	must(err)
	fill, err := w.Call(Fill, "ünits", 2)
	must(err)
	must(w.Return(fill, OK, -1, runs))
	must(w.Return(create, HalfDone, 8191, nil))
	_, err = w.Call(Destroy, "orders", 1)
	must(err)
	ops = []Op{
		{Kind: Create, Name: "orders", Handle: 1, Call: 7 * time.Second, Return: 28 * time.Second, Outcome: HalfDone,
			Node: 8191},
		{Kind: Fill, Name: "ünits", Handle: 2, Call: 14 * time.Second, Return: 21 * time.Second, Outcome: OK, Node: -1,
			Runs: []Run{{1 << 40, 3}, {1 << 41, 1}, {5, 1}}},
		{Kind: Destroy, Name: "orders", Handle: 1, Call: 35 * time.Second, Node: -1},
	}
	return ops, out.Bytes(), whole
}

func TestReadsWhatWasWritten(t *testing.T) {
	want, text, _ := written(t)
	got, err := Read(bytes.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v; want %+v", got, err, want)
	}
}

// A process is killed between any two bytes: all records before are there.
func TestReadsHalfAHistory(t *testing.T) {
	_, text, whole := written(t)
	for cut := range text {
		records := 0
		for records < len(whole) && whole[records] <= cut {
			records++
		}
		got, err := Read(bytes.NewReader(text[:cut]))
		if err != nil {
			t.Fatalf("of %d bytes: %v", cut, err)
		}
		answered := 0
		for _, op := range got {
			if op.Outcome != 0 {
				answered++
			}
		}
		if len(got)+answered != records {
			t.Errorf("of %d bytes: %d calls and %d returns, want %d records", cut, len(got), answered, records)
		}
	}
}

func TestRefusesDamage(t *testing.T) {
	for name, text := range map[string]string{
		"no record":        "x",
		"unknown name":     "C\x01\x00\x01\x00\x01",
		"unknown call":     "R\x01\x05\x01\x00\x00",
		"name beyond size": "N\xff\x7f",
		"too many runs":    "R\x01\x00\x01\x00\xff\xff\xff\xff\x0f",
	} {
		if _, err := Read(bytes.NewReader([]byte(text))); !errors.Is(err, errFormat) {
			t.Errorf("%s: %v, want %v", name, err, errFormat)
		}
	}
}

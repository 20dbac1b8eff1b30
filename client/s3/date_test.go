package s3

import (
	"errors"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

func TestTimeOfTheServer(t *testing.T) {
	server, cli := startServer(t)
	s := New(cli, "bucket", "")
	dated, ok := s.(store.Dated)
	if !ok {
		t.Fatal("not Dated")
	}
	if _, _, known := dated.Time(); known {
		t.Error("a time before the first answer")
	}
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		server.now = func() time.Time { return time.Now().Add(ahead) }
		// An error of the server has its time, too.
		if _, err := s.Load(t.Context(), "k"); !errors.Is(err, store.ErrNoRecord) {
			t.Fatal(err)
		}
		now, within, known := dated.Time()
		if !known || within < 500*time.Millisecond || within > time.Second {
			t.Fatalf("within %v, known %v", within, known)
		}
		if off := now.Sub(server.now()).Abs(); off > within {
			t.Errorf("%v ahead: off by %v, within %v", ahead, off, within)
		}
	}
}

func TestDateKeepsTheTighterSample(t *testing.T) {
	var d date
	start := time.Now()
	header := start.Truncate(time.Second)
	d.sample(header, start, 0)
	d.sample(header, start.Add(100*time.Millisecond), 10*time.Second) // a slow answer, not contradicting
	if _, within, _ := d.time(start.Add(100 * time.Millisecond)); within > 600*time.Millisecond {
		t.Errorf("within %v after a slow answer", within)
	}
	_, fresh, _ := d.time(start)
	if _, old, _ := d.time(start.Add(time.Hour)); old < fresh+time.Second {
		t.Errorf("within %v after an hour, %v before", old, fresh)
	}
	// The server's clock was set: the kept sample is wrong.
	d.sample(header.Add(time.Minute), start.Add(time.Second), 30*time.Second)
	now, within, _ := d.time(start.Add(time.Second))
	if off := now.Sub(header.Add(time.Minute)).Abs(); off > within+time.Second {
		t.Errorf("off by %v, within %v", off, within)
	}
}

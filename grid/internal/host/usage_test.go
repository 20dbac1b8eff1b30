package host

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestUsageAddsUp: reports of a name add up, and the busiest of late comes first.
func TestUsageAddsUp(t *testing.T) {
	var s usage
	s.add(0, wire.Used{Name: "old", IDs: 1000, Waits: 1})
	s.add(time.Hour, wire.Used{Name: "new", IDs: 10})
	s.add(time.Hour, wire.Used{Name: "new", IDs: 10, Waits: 2})
	s.add(time.Hour, wire.Used{Name: "nothing"})
	all, busiest := s.read(time.Hour)
	if want := "{ 1020 3} [{new 20 2} {old 1000 1}]"; fmt.Sprint(all, busiest) != want {
		t.Errorf("usage %v %v, want %s", all, busiest, want)
	}
	if u, _ := s.recent("old", 0, 0); u.IDs != 1000 {
		t.Errorf("old has %d IDs", u.IDs)
	}
}

// TestUsageIsBounded: neither a report nor many names make it grow without end, and the
// busy names stay.
func TestUsageIsBounded(t *testing.T) {
	var s usage
	s.add(0, wire.Used{Name: "busy", IDs: math.MaxUint64})
	if got, _ := s.recent("busy", 0, 0); got.IDs != usedMax {
		t.Errorf("a report counted %d IDs", got.IDs)
	}
	for i := range 3 * usedNames {
		s.add(time.Second, wire.Used{Name: fmt.Sprint(i), IDs: 1})
	}
	if n := len(s.names); n > usedNames {
		t.Errorf("%d names are kept", n)
	}
	if got, _ := s.recent("busy", 0, 0); got.IDs == 0 {
		t.Error("the busiest name was forgotten")
	}
	all, busiest := s.read(time.Second)
	if len(busiest) != usageShown || all.IDs != usedMax+3*usedNames {
		t.Errorf("a reading has %d names and %d IDs", len(busiest), all.IDs)
	}
}

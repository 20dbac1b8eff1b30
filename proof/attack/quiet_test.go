//go:build linux

package attack_test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// strangersMost is the most of a processor that other processes of the machine may have of those of
	// the members, while attaches are compared: they delay an attach as an attack does.
	strangersMost = 0.15
	// quietWithin bounds the time that the test waits for other processes, all times together.
	quietWithin = 10 * time.Minute
)

// spent is the processor time that was used up to a moment.
type spent struct {
	at                    time.Time
	members, honest, half time.Duration
}

// spentNow returns what members, this process and all processes have used, the last on the members' half of
// the processors.
func (f *field) spentNow(t *testing.T) spent {
	t.Helper()
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	return spent{at: time.Now(), members: used(f.agents), honest: time.Duration(own.Utime.Nano() + own.Stime.Nano()),
		half: usedOfHalf(t)}
}

// since returns how many processors members had since an earlier moment, and how many of the members' half
// processes had that are not the test's.
func (s spent) since(before spent) (members, strangers float64) {
	span := s.at.Sub(before.at).Seconds()
	tests := s.members - before.members + s.honest - before.honest
	return (s.members - before.members).Seconds() / span, (s.half - before.half - tests).Seconds() / span
}

// usedOfHalf returns the time that the first half of the processors has worked for any process, or was taken
// by the host of the machine. It has no interrupts: attackers cause those too.
func usedOfHalf(t *testing.T) (all time.Duration) {
	t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		n, err := strconv.Atoi(strings.TrimPrefix(fields[0], "cpu"))
		if err != nil || n >= runtime.NumCPU()/2 || !strings.HasPrefix(line, "cpu") {
			continue
		}
		for _, column := range []int{1, 2, 3, 8} { // user, nice, system, steal
			ticks, err := strconv.Atoi(fields[column])
			if err != nil {
				t.Fatalf("/proc/stat: %v", err)
			}
			all += time.Duration(ticks) * tick
		}
	}
	return all
}

// quiet reports whether attaches of a row can be compared.
func (r row) quiet() bool { return *ratioMax == 0 || r.strangers <= strangersMost }

// awaitQuiet waits with -ratio until other processes leave the members' processors to them.
func (f *field) awaitQuiet(t *testing.T) {
	t.Helper()
	for *ratioMax > 0 && f.waited < quietWithin {
		before := f.spentNow(t)
		<-time.After(time.Second)
		if _, strangers := f.spentNow(t).since(before); strangers <= strangersMost {
			return
		}
		f.wait(t, before.at)
	}
}

// again reports whether an attack has to be measured again, since other processes disturbed it.
func (f *field) again(t *testing.T, r row, began time.Time) bool {
	t.Helper()
	if r.quiet() || f.waited >= quietWithin {
		return false
	}
	t.Logf("%s: other processes had %.2f of the members' processors", r.name, r.strangers)
	f.wait(t, began)
	return f.waited < quietWithin
}

// wait counts a time in which other processes disturbed the test.
func (f *field) wait(t *testing.T, began time.Time) {
	t.Helper()
	if f.waited += time.Since(began); f.waited >= quietWithin {
		t.Errorf("other processes had more than %v of a processor of the members for %v in all, so the rest of the "+
			"ratios are not judged: end those processes, or leave out -ratio", strangersMost, f.waited.Round(time.Second))
	}
}

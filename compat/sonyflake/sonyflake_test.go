package sonyflake_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/compat/sonyflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNewRefusesSettings has the cases of the published tests that set no machine number, and more.
func TestNewRefusesSettings(t *testing.T) {
	now := time.Now()
	source, young := of(epoch.At(start)), of(epoch.At(now))
	for name, c := range map[string]struct {
		st   sonyflake.Settings
		want error
	}{
		"no sequencer":          {sonyflake.Settings{}, sequencer.ErrInvalidConfig},
		"nil sequencer":         {sonyflake.Settings{Sequencer: (*sequencer.Sequencer)(nil)}, sequencer.ErrInvalidConfig},
		"nil striped":           {sonyflake.Settings{Sequencer: (*sequencer.Striped)(nil)}, sequencer.ErrInvalidConfig},
		"bits of time":          {sonyflake.Settings{BitsSequence: 16, BitsMachineID: 16}, sonyflake.ErrInvalidBitsTime},
		"bits of sequence":      {sonyflake.Settings{BitsSequence: -1}, sonyflake.ErrInvalidBitsSequence},
		"31 bits of sequence":   {sonyflake.Settings{BitsSequence: 31}, sonyflake.ErrInvalidBitsSequence},
		"bits of machine":       {sonyflake.Settings{BitsMachineID: 31}, sonyflake.ErrInvalidBitsMachineID},
		"negative bits":         {sonyflake.Settings{BitsMachineID: -1}, sonyflake.ErrInvalidBitsMachineID},
		"time unit":             {sonyflake.Settings{TimeUnit: time.Microsecond}, sonyflake.ErrInvalidTimeUnit},
		"negative unit":         {sonyflake.Settings{TimeUnit: -time.Second}, sonyflake.ErrInvalidTimeUnit},
		"start time ahead":      {sonyflake.Settings{StartTime: now.Add(time.Minute)}, sonyflake.ErrStartTimeAhead},
		"negative Last":         {sonyflake.Settings{Last: -1}, sequencer.ErrInvalidConfig},
		"Last above the IDs":    {sonyflake.Settings{Last: math.MaxInt64}, sequencer.ErrInvalidConfig},
		"Last of no time":       {sonyflake.Settings{Last: 1 << 46, TimeUnit: time.Hour}, sequencer.ErrInvalidConfig},
		"Last of a later epoch": {sonyflake.Settings{Sequencer: young, Last: 1 << 56}, sequencer.ErrInvalidConfig},
	} {
		if c.st.Sequencer == nil && name != "no sequencer" {
			c.st.Sequencer = source
		}
		sf, err := sonyflake.New(c.st)
		if sf != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), "Settings") {
			t.Errorf("%s: %v, %v", name, sf, err)
		}
	}
	if _, err := sonyflake.New(sonyflake.Settings{Sequencer: source}); err != nil {
		t.Error(err)
	}
}

// published are IDs of sonyflake v2.2.0 with the parts that it returns.
var published = []struct {
	st                      sonyflake.Settings
	id                      int64
	at, of                  time.Time
	time, sequence, machine int64
}{
	{sonyflake.Settings{}, 13108434, start, start, 0, 200, 1234},
	{sonyflake.Settings{}, 70756435419989202, time.Date(2026, 5, 4, 3, 2, 1, 980_000_000, time.UTC),
		time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.UTC), 4217412198, 200, 1234},
	{sonyflake.Settings{BitsSequence: 12, BitsMachineID: 10, TimeUnit: time.Millisecond,
		StartTime: time.Date(2020, 2, 3, 4, 5, 6, 7890123, time.UTC)}, 826953237973172223,
		time.Date(2026, 5, 4, 3, 2, 1, 987_000_000, time.UTC), time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.UTC),
		197161015980, 4095, 1023},
	{sonyflake.Settings{BitsSequence: 4, BitsMachineID: 5, TimeUnit: 1500 * time.Microsecond,
		StartTime: time.Date(1999, 2, 3, 4, 5, 6, 7890123, time.UTC)}, 293495130788351,
		time.Date(2026, 5, 4, 3, 2, 1, 987_500_000, time.UTC), time.Date(2026, 5, 4, 3, 2, 1, 987_654_321, time.UTC),
		573232677320, 15, 31},
}

// TestEarlierIDs: an ID up to Last has the parts that sonyflake gave it, whatever its sequencer.
func TestEarlierIDs(t *testing.T) {
	for _, c := range published {
		for _, last := range []int64{c.id, c.id + 1, c.id + 1<<30} {
			c.st.Last = last
			c.st.Sequencer = fixed{cfg: sequencer.Config{Epoch: epoch.Twitter, Layout: sequencer.Twitter()}}
			sf := mustNew(t, c.st)
			parts := sf.Decompose(c.id)
			if parts["id"] != c.id || parts["time"] != c.time || parts["sequence"] != c.sequence ||
				parts["machine"] != c.machine || len(parts) != 4 {
				t.Errorf("%d up to %d has the parts %v", c.id, last, parts)
			}
			if at := sf.ToTime(c.id); !at.Equal(c.at) || at.Location() != time.Local {
				t.Errorf("%d is of %v, want %v", c.id, at, c.at)
			}
			if id, err := sf.Compose(c.of, int(c.sequence), int(c.machine)); id != c.id || err != nil {
				t.Errorf("%v composes %d, %v, want %d", parts, id, err, c.id)
			}
		}
	}
}

// TestBothKinds: Compose and Decompose are inverse at each time before and after Last, also in its time unit.
func TestBothKinds(t *testing.T) {
	const last = 70756435419989202
	moved := time.Date(2026, 5, 4, 3, 2, 1, 980_000_000, time.UTC)
	s, _ := create(t)
	sf := mustNew(t, sonyflake.Settings{Sequencer: s, Last: last})
	end := moved.Add(10 * time.Millisecond)
	for _, c := range []struct {
		at      time.Time
		earlier bool
	}{
		{start, true}, {start.Add(year), true}, {moved, true}, {end.Add(-1), true}, {end, false}, {end.Add(year), false},
	} {
		machine := 8191
		if c.earlier {
			machine = 65535
		}
		id, err := sf.Compose(c.at, 255, machine)
		if err != nil || (id < 1<<57) != c.earlier {
			t.Errorf("%v composes %d, %v", c.at, id, err)
			continue
		}
		parts := sf.Decompose(id)
		if want := int64(c.at.Sub(start) / (10 * time.Millisecond)); parts["time"] != want || parts["sequence"] != 255 ||
			parts["machine"] != int64(machine) {
			t.Errorf("%v: %d has the parts %v, want time %d", c.at, id, parts, want)
		}
		unit := 10 * time.Millisecond
		if !c.earlier {
			unit = time.Millisecond
			if at := s.Definition().Decompose(sequencer.ID(id)).Time; !at.Equal(sf.ToTime(id)) {
				t.Errorf("%d is of %v, want %v", id, sf.ToTime(id), at)
			}
		}
		if late := c.at.Sub(sf.ToTime(id)); late < 0 || late >= unit {
			t.Errorf("%d is of %v, want %v", id, sf.ToTime(id), c.at)
		}
	}
	if id, err := sf.NextID(); err != nil || id <= last {
		t.Errorf("%d, %v", id, err)
	}
}

func TestComposeErrors(t *testing.T) {
	const last = 70756435419989202
	cfg := sequencer.Config{Epoch: epoch.At(start)}
	only := mustNew(t, sonyflake.Settings{Sequencer: fixed{cfg: cfg}})
	both := mustNew(t, sonyflake.Settings{Sequencer: fixed{cfg: cfg}, Last: last})
	early := start.Add(-10 * year)
	from2020 := mustNew(t, sonyflake.Settings{Sequencer: fixed{cfg: cfg}, StartTime: early})
	// With this epoch the sequencer's IDs of the first days after Last are below it.
	late := mustNew(t, sonyflake.Settings{Sequencer: of(epoch.At(start.Add(year + 59*24*time.Hour))), Last: last})
	now := time.Now()
	for name, c := range map[string]struct {
		sf                *sonyflake.Sonyflake
		at                time.Time
		sequence, machine int
		want              error
	}{
		"before the start":  {only, start.Add(-time.Second), 0, 0, sonyflake.ErrStartTimeAhead},
		"the year 1":        {both, time.Time{}, 0, 0, sonyflake.ErrStartTimeAhead},
		"before the epoch":  {from2020, early.Add(year), 0, 0, sonyflake.ErrStartTimeAhead},
		"over the limit":    {only, start.Add(175 * year), 0, 0, sonyflake.ErrOverTimeLimit},
		"the year 100000":   {both, time.Date(100000, 1, 1, 0, 0, 0, 0, time.UTC), 0, 0, sonyflake.ErrOverTimeLimit},
		"sequence":          {only, now, 1024, 0, sonyflake.ErrInvalidSequence},
		"negative sequence": {only, now, -1, 0, sonyflake.ErrInvalidSequence},
		"machine":           {only, now, 0, 8192, sonyflake.ErrInvalidMachineID},
		"negative machine":  {only, now, 0, -1, sonyflake.ErrInvalidMachineID},
		"earlier sequence":  {both, start, 256, 0, sonyflake.ErrInvalidSequence},
		"earlier machine":   {both, start, 0, 65536, sonyflake.ErrInvalidMachineID},
		"of neither kind":   {late, time.Date(2026, 5, 5, 0, 0, 0, 0, time.UTC), 0, 0, sonyflake.ErrStartTimeAhead},
	} {
		id, err := c.sf.Compose(c.at, c.sequence, c.machine)
		if id != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d, %v", name, id, err)
		}
	}
	if _, err := only.Compose(now, 1023, 8191); err != nil {
		t.Error(err)
	}
}

// TestDistantTimes: a time beyond the int64 of nanoseconds, in 2554, has the right time unit.
func TestDistantTimes(t *testing.T) {
	long := sequencer.Layout{Bits: 55, LowBits: 9, Nodes: 16}
	source := fixed{cfg: sequencer.Config{Layout: long, Epoch: epoch.At(start)}}
	sf := mustNew(t, sonyflake.Settings{Sequencer: source})
	at := time.Unix(18446744073, 800_000_000) // as nanoseconds it is just above 2^64
	id, err := sf.Compose(at, 31, 15)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := sf.Decompose(id)["time"], (at.Unix()-start.Unix())*100+80; got != want || !sf.ToTime(id).Equal(at) {
		t.Errorf("%d is of %v, unit %d, want %d", id, sf.ToTime(id), got, want)
	}
}

// TestAnyIDDecomposes: no number makes Decompose or ToTime panic, and each has four parts.
func TestAnyIDDecomposes(t *testing.T) {
	for _, l := range []sequencer.Layout{{}, sequencer.Twitter(), {Bits: 37, LowBits: 5, Nodes: 16}} {
		for _, last := range []int64{0, 1} {
			source := fixed{cfg: sequencer.Config{Layout: l, Epoch: epoch.At(start)}}
			sf := mustNew(t, sonyflake.Settings{Sequencer: source, Last: last})
			for _, id := range []int64{math.MinInt64, -1, 0, 1, 1 << 24, 1 << 62, math.MaxInt64} {
				if parts := sf.Decompose(id); len(parts) != 4 || parts["id"] != id {
					t.Errorf("%d has the parts %v", id, parts)
				}
				sf.ToTime(id)
			}
		}
	}
}

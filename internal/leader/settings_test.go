package leader

import (
	"errors"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// set asks for settings, and returns the answers.
func (o *office) set(in SettingsRequest) *[]error {
	answers := new([]error)
	o.l.SetSettings(o.v, in, func(err error) { *answers = append(*answers, err) })
	return answers
}

// durably returns a leader whose grid keeps its log on disk.
func durably(t *testing.T) *office {
	o := lead(t, 3, true)
	kept := *o.v.Roster
	kept.KeepsLog = true
	o.v.Roster = &kept
	o.assign()
	later := *o.v.Roster
	later.Time = later.Ceiling // the losses of the start are over
	o.v.Roster = &later
	return o
}

func number(n int) *int { return &n }

func TestSetSettings(t *testing.T) {
	for what, c := range map[string]struct {
		in   SettingsRequest
		want roster.Settings
	}{
		"backups":    {SettingsRequest{Backups: number(2)}, roster.Settings{Backups: 2, Window: window}},
		"no backups": {SettingsRequest{Backups: number(0)}, roster.Settings{Backups: 0, Window: window}},
		"window":     {SettingsRequest{Window: 3 * window}, roster.Settings{Backups: 1, Window: 3 * window}},
		"voters":     {SettingsRequest{Voters: 5}, roster.Settings{Backups: 1, Window: window, Voters: 5}},
		"all": {SettingsRequest{Backups: number(2), Window: 2 * window, Voters: 1},
			roster.Settings{Backups: 2, Window: 2 * window, Voters: 1}},
		"expect": {SettingsRequest{Expect: 5}, roster.Settings{Backups: 1, Window: window, Expect: 5}},
		"as it is": {SettingsRequest{Backups: number(1), Window: window, Voters: 3},
			roster.Settings{Backups: 1, Window: window}},
		"nothing": {SettingsRequest{}, roster.Settings{Backups: 1, Window: window}},
	} {
		t.Run(what, func(t *testing.T) {
			o := durably(t)
			before := o.v.Roster
			answers := o.set(c.in)
			o.agree()
			c.want.Name, c.want.Partitions = before.Settings.Name, before.Settings.Partitions
			if len(*answers) != 1 || (*answers)[0] != nil || o.v.Roster.Settings != c.want {
				t.Fatalf("answers %v, settings %+v, want %+v", *answers, o.v.Roster.Settings, c.want)
			}
			if o.v.Roster.Ceiling != before.Ceiling {
				t.Errorf("the ceiling moved to %d without a raise", o.v.Roster.Ceiling)
			}
		})
	}
}

func TestSetSettingsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		in   SettingsRequest
		kind error
		want string
	}{
		"negative backups": {SettingsRequest{Backups: number(-1)}, ErrBadRequest,
			"backups=-1: give 0 for none, or 1 to 32767"},
		"too many":        {SettingsRequest{Backups: number(40000)}, ErrBadRequest, "1 to 32767"},
		"even voters":     {SettingsRequest{Voters: 4}, ErrBadRequest, "voters=4: give 1, 3, 5 or 7"},
		"negative voters": {SettingsRequest{Voters: -1}, ErrBadRequest, "give 1, 3, 5 or 7"},
		"negative expect": {SettingsRequest{Expect: -1}, ErrBadRequest, "expect=-1: give 1 to 1000"},
		"large expect":    {SettingsRequest{Expect: 1001}, ErrBadRequest, "give 1 to 1000"},
		"smaller window": {SettingsRequest{Window: window / 2}, ErrNotNow,
			"window=5s: the window of a grid only grows, and it is 10s"},
		"tiny window": {SettingsRequest{Window: 10}, ErrBadRequest, "window=10ms: give 1s to 1h0m0s"},
		"huge window": {SettingsRequest{Window: roster.MaxWindow + 1}, ErrBadRequest, "give 1s to 1h0m0s"},
		"one of two":  {SettingsRequest{Backups: number(2), Window: window / 2}, ErrNotNow, "only grows"},
	} {
		o := durably(t)
		commands, settings := len(o.commands), o.v.Roster.Settings
		answers := o.set(c.in)
		if len(*answers) != 1 || !errors.Is((*answers)[0], c.kind) || !strings.Contains((*answers)[0].Error(), c.want) ||
			len(o.commands) != commands || o.v.Roster.Settings != settings {
			t.Errorf("%s: answers %v, want %s", what, *answers, c.want)
		}
	}
}

// TestSetWindowWithoutDisks: the next life of a grid that keeps nothing knows the window
// from the configuration alone, so an operator confirms that it is there.
func TestSetWindowWithoutDisks(t *testing.T) {
	larger := SettingsRequest{Window: 2 * window}
	o := lead(t, 3, false)
	answers := o.set(larger)
	if len(*answers) != 1 || !errors.Is((*answers)[0], ErrNotConfirmed) ||
		!strings.Contains((*answers)[0].Error(), "Put window=20s into the configuration of every member") {
		t.Fatalf("answers %v", *answers)
	}
	larger.WindowStated = true
	answers = o.set(larger)
	o.agree()
	if len(*answers) != 1 || (*answers)[0] != nil || o.v.Roster.Settings.Window != 2*window {
		t.Errorf("confirmed: answers %v, window %d", *answers, o.v.Roster.Settings.Window)
	}
	if answers = o.set(SettingsRequest{Window: 2 * window}); len(*answers) != 1 || (*answers)[0] != nil {
		t.Errorf("the same again: %v", *answers)
	}
}

// TestSetSettingsThatNoRosterTakes: a change that the roster refuses is answered, and not proposed.
func TestSetSettingsThatNoRosterTakes(t *testing.T) {
	o := durably(t)
	o.agree()
	last := *o.v.Roster
	last.Version = 1 << 62 // versions end here
	o.v.Roster = &last
	before := len(o.commands)
	answers := o.set(SettingsRequest{Backups: number(2)})
	if len(*answers) != 1 || !errors.Is((*answers)[0], ErrNotNow) || len(o.commands) != before {
		t.Errorf("answers %v, %d commands", *answers, len(o.commands)-before)
	}
}

// TestSetSettingsWaits: a request waits for the change that is proposed, is proposed again
// if that one came first, and is answered when the lead ends.
func TestSetSettingsWaits(t *testing.T) {
	o := durably(t)
	o.l.changes.pending = true
	first, second := o.set(SettingsRequest{Backups: number(2)}), o.set(SettingsRequest{Window: 2 * window})
	commands := len(o.commands)
	o.l.Proposed(o.v, roster.Command{Change: &roster.Change{}}, nil)
	if len(o.commands) != commands+1 || len(*first) > 0 {
		t.Fatalf("%d commands after %d, answers %v", len(o.commands), commands, *first)
	}
	stale := o.commands[commands]
	o.l.Proposed(o.v, stale, roster.ErrStale)
	if len(o.commands) != commands+2 || len(*first)+len(*second) > 0 {
		t.Fatalf("%d commands, answers %v %v", len(o.commands), *first, *second)
	}
	o.agree()
	if len(*first) != 1 || (*first)[0] != nil || len(*second) != 1 || (*second)[0] != nil ||
		o.v.Roster.Settings.Backups != 2 || o.v.Roster.Settings.Window != 2*window {
		t.Fatalf("answers %v %v, settings %+v", *first, *second, o.v.Roster.Settings)
	}

	third := o.set(SettingsRequest{Backups: number(0)})
	o.l.Proposed(o.v, o.commands[len(o.commands)-1], errors.New("no majority"))
	if len(*third) != 1 || !errors.Is((*third)[0], ErrUnavailable) {
		t.Errorf("without a majority: %v", *third)
	}
	fourth, fifth := o.set(SettingsRequest{Backups: number(0)}), o.set(SettingsRequest{Backups: number(3)})
	o.l.Resign()
	for _, answers := range []*[]error{fourth, fifth} {
		if len(*answers) != 1 || !errors.Is((*answers)[0], ErrNotLeading) {
			t.Errorf("after the lead: %v", *answers)
		}
	}
}

// TestSetSettingsIsBounded: requests that wait are limited.
func TestSetSettingsIsBounded(t *testing.T) {
	o := durably(t)
	o.l.changes.pending = true
	for range settingsPending {
		if answers := o.set(SettingsRequest{Backups: number(2)}); len(*answers) > 0 {
			t.Fatalf("answers %v", *answers)
		}
	}
	if answers := o.set(SettingsRequest{Backups: number(2)}); len(*answers) != 1 ||
		!errors.Is((*answers)[0], ErrUnavailable) {
		t.Errorf("answers %v", *answers)
	}
}

// report reports as the owner of a partition.
func (o *office) report(id roster.PartitionID, in Report) {
	o.t.Helper()
	in.Owner = o.v.Roster.Partitions[id].Owner
	if _, err := o.l.Reported(o.v, in); err != nil {
		o.t.Fatal(err)
	}
}

// TestSetBackupsMovesReplicas: the planner adds and drops replicas for the new number.
func TestSetBackupsMovesReplicas(t *testing.T) {
	o := durably(t)
	copies := func() (least, most int) {
		least, most = 99, 0
		for _, p := range o.v.Roster.Partitions {
			n := len(p.InSync)
			least, most = min(least, n), max(most, n)
		}
		return least, most
	}
	settle := func() {
		for range 30 {
			o.step(StepEvery)
			o.agree()
			for id, p := range o.v.Roster.Partitions {
				if p.Joining != "" {
					o.report(roster.PartitionID(id),
						Report{Held: []roster.Holding{{Replica: roster.Replica{Partition: roster.PartitionID(id), Member: p.Joining},
							Version: o.v.Roster.Version}}})
				}
				o.report(roster.PartitionID(id),
					Report{Persisted: []roster.Persisted{{Partition: roster.PartitionID(id), Version: o.v.Roster.Version}}})
			}
			o.answer(forDetection, func(int) error { return nil })
		}
	}
	for _, backups := range []int{2, 0, 1} {
		o.set(SettingsRequest{Backups: number(backups)})
		o.agree()
		settle()
		if least, most := copies(); least != backups+1 || most != backups+1 {
			t.Errorf("%d to %d copies with %d backups: %+v", least, most, backups, o.v.Roster.Partitions)
		}
	}
}

// TestSettingsBeforeTheAnchor: a leader that has not taken the grid's record yet says so, and
// proposes nothing.
func TestSettingsBeforeTheAnchor(t *testing.T) {
	o := anchoredLead(t, 1, true, true)
	r := *o.v.Roster
	r.Claim = ""
	o.v.Roster = &r
	var answer error
	o.l.SetSettings(o.v, SettingsRequest{Window: 2 * clustertime.Span(window)}, func(err error) { answer = err })
	if !errors.Is(answer, ErrNotNow) || !strings.Contains(answer.Error(), "the grid's anchor has not been taken yet") ||
		len(o.commands) > 0 {
		t.Errorf("answer %v, commands %+v", answer, o.commands)
	}
}

// agree has every proposed change agreed on until none is.
func (o *office) agree() {
	for o.l.changes.pending {
		c := o.commands[len(o.commands)-1]
		o.apply(c)
		o.l.Proposed(o.v, c, nil)
	}
}

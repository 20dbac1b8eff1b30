package main

import (
	"errors"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/definitionflags"
	"github.com/snowgrid/snowgrid/sequencer"
)

// floorFlags set the earliest timestamp of new IDs.
type floorFlags struct {
	Floor  string                 `help:"Begin above this TIME, or above the time of this ID (requires --epoch)." env:"SNOWGRID_FLOOR" placeholder:"TIME|ID"`
	Epoch  *definitionflags.Epoch `help:"Epoch of the sequencer that issued the ID in --floor." env:"SNOWGRID_EPOCH" placeholder:"TIME"`
	Layout definitionflags.Layout `help:"Layout of the sequencer that issued the ID in --floor, as of snowgrid next." default:"default" env:"SNOWGRID_LAYOUT"`
}

// statedFloor is a floor that also asserts that no later ID was issued. It applies once,
// so it has no environment variable, which could remain set.
type statedFloor struct {
	Floor  string                 `help:"Assert that no ID above this TIME, or above this ID (requires --epoch), was issued." placeholder:"TIME|ID"`
	Epoch  *definitionflags.Epoch `help:"Epoch of the sequencer that issued the ID in --floor." placeholder:"TIME"`
	Layout definitionflags.Layout `help:"Layout of the sequencer that issued the ID in --floor, as of snowgrid next." default:"default"`
}

func (f statedFloor) floor() (time.Time, error) {
	if f.Floor == "" && f.Epoch != nil {
		return time.Time{}, badValue("epoch", f.Epoch, withoutFloor)
	}
	return floorFlags(f).floor()
}

// withoutFloor is the problem of a flag that only interprets the ID in --floor.
const withoutFloor = "it belongs to the ID in --floor, and none is given; give --floor, or omit it"

// checkUse refuses --epoch and --layout without --floor. Other commands have the same variables, which have no effect
// then.
func (f *floorFlags) checkUse(s *sources) (err error) {
	for _, k := range []struct {
		name  string
		value any
	}{{"epoch", f.Epoch}, {"layout", f.Layout}} {
		from, isSet := s.origins[k.name]
		if f.Floor == "" && isSet && from.source != fromEnvironment {
			err = errors.Join(err, badValue(k.name, k.value, withoutFloor))
		}
	}
	return err
}

func (f *floorFlags) apply(cfg *grid.Config) (err error) {
	cfg.Floor, err = f.floor()
	return err
}

// floor returns the time in --floor, or the time of the ID in it; zero without the flag.
func (f floorFlags) floor() (time.Time, error) {
	if f.Floor == "" {
		return time.Time{}, nil
	}
	if strings.ContainsAny(f.Floor, "-:") {
		t, err := definitionflags.ParseTime(f.Floor)
		if err != nil {
			return time.Time{}, badValue("floor", f.Floor, "%v", err)
		}
		return t, nil
	}
	id, err := sequencer.Parse(f.Floor)
	if err != nil {
		return time.Time{}, badValue("floor", f.Floor, "neither a time nor an ID: %s", sentence(err))
	}
	if f.Epoch == nil {
		return time.Time{}, badValue("floor", id, "an ID's time depends on its sequencer's epoch; add the epoch")
	}
	// The node count does not move the bits of the time.
	definition, err := sequencer.Define("floor", sequencer.Config{Epoch: f.Epoch.Epoch, Layout: f.Layout.Layout})
	if err != nil {
		return time.Time{}, badValue("layout", "", "%s", sentence(err))
	}
	return definition.Decompose(id).Time, nil
}

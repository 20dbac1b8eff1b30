package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/sequencer"
)

// floorFlags say where IDs begin at the earliest.
type floorFlags struct {
	Floor string     `help:"Begin above this TIME, or above the time of this ID (with --epoch)." env:"SNOWGRID_FLOOR" placeholder:"TIME|ID"`
	Epoch *epochFlag `help:"Epoch of the sequencer that the ID in --floor is of." env:"SNOWGRID_EPOCH" placeholder:"TIME"`
}

// statedFloor is a floor that states more than where to begin. It is said for one
// occasion and has no environment variable, which might be left behind.
type statedFloor struct {
	Floor string     `help:"State that no ID above this TIME, or above this ID (with --epoch), was issued." placeholder:"TIME|ID"`
	Epoch *epochFlag `help:"Epoch of the sequencer that the ID in --floor is of." placeholder:"TIME"`
}

func (f statedFloor) floor() (time.Time, error) { return floorFlags(f).floor() }

// floor returns the time in --floor, or that of the ID in it; zero without one.
func (f floorFlags) floor() (time.Time, error) {
	if f.Floor == "" {
		return time.Time{}, nil
	}
	if strings.ContainsAny(f.Floor, "-:") {
		t, err := parseTime(f.Floor)
		if err != nil {
			return time.Time{}, fmt.Errorf("--floor: %w", err)
		}
		return t, nil
	}
	id, err := sequencer.Parse(f.Floor)
	if err != nil {
		return time.Time{}, fmt.Errorf("--floor: neither a time nor an ID: %w", err)
	}
	if f.Epoch == nil {
		return time.Time{}, fmt.Errorf("--floor %v: an ID says its time only together with its sequencer's epoch; add --epoch", id)
	}
	// The time is in the same bits whatever the node count.
	definition, err := sequencer.Define("floor", sequencer.Config{Epoch: f.Epoch.Epoch})
	if err != nil {
		return time.Time{}, err
	}
	return definition.Decompose(id).Time, nil
}

package clustertime

import (
	"fmt"
	"testing"

	"github.com/snowgrid/snowgrid/internal/script"
)

// TestClockScripts runs the scripts under testdata.
func TestClockScripts(t *testing.T) {
	script.Run(t, "testdata/*.txt", func() func([]string) string {
		return new(clockStage).do
	})
}

// clockStage is the state of a script.
type clockStage struct {
	cluster ClusterTime
	keeper  Timekeeper
	time    Tick
}

func (s *clockStage) do(words []string) string {
	switch verb, args := words[0], words[1:]; verb {
	case "sample":
		return s.sample(args)
	case "at":
		return s.at(args)
	case "elect": // a new leader, which knows nothing
		s.keeper = Timekeeper{}
		return ""
	case "clocks":
		return s.clocks(args)
	default:
		return "unknown verb " + verb + "\n"
	}
}

// sample MONO T
func (s *clockStage) sample(a []string) string {
	s.cluster = s.cluster.Sample(script.Duration(a[0]), Tick(script.Number(a[1])))
	return ""
}

func (s *clockStage) at(a []string) string {
	if !s.cluster.Known() {
		return "unknown\n"
	}
	return fmt.Sprintln(s.cluster.At(script.Duration(a[0])))
}

// clocks VOTERS ELAPSED CLOCK...
func (s *clockStage) clocks(a []string) string {
	var clocks []Tick
	for _, word := range a[2:] {
		clocks = append(clocks, Tick(script.Number(word)))
	}
	var v Verdict
	s.time, s.keeper, v = s.keeper.Next(s.time, script.Duration(a[1]), clocks, int(script.Number(a[0])))
	out := fmt.Sprintf("%d", s.time)
	if !v.Majority {
		out += " no majority"
	}
	if v.Jump > 0 {
		out += fmt.Sprintf(" jump=%d agreed=%s", v.Jump, v.Agreed)
	}
	if v.Held {
		out += " held"
	}
	return out + "\n"
}

package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/snowgrid/snowgrid/grid"
)

type checkResult struct {
	Healthy bool         `json:"healthy"` // no alert is a warning or critical
	Alerts  []grid.Alert `json:"alerts"`  // the most urgent first
}

// check prints a status's alerts. It returns an error with exitDegraded if an alert needs an operator.
func (s *statusCommand) check(to streams, status grid.Status) error {
	alerts := grid.Alerts(status)
	result := checkResult{Healthy: !grid.Degraded(alerts), Alerts: alerts}
	err := s.result(to.out, result, func(w io.Writer) {
		for _, a := range alerts {
			fmt.Fprintf(w, "%-8s  %s: %s\n", a.Severity, a.Name, a.Text)
		}
		if result.Healthy {
			fmt.Fprintf(w, "healthy: grid %s, %s, %d of %s alive\n", status.Name,
				counted(len(status.Members), "member"), status.VotersAlive, counted(status.Voters, "voter"))
		}
	})
	if err != nil || result.Healthy {
		return err
	}
	return degraded("grid %s needs attention: %s", status.Name, strings.Join(pressing(alerts), ", "))
}

// pressing returns the names of the alerts that need an operator, the most severe first.
func pressing(alerts []grid.Alert) (names []string) {
	for _, a := range alerts {
		if a.Severity != grid.Info {
			names = append(names, a.Name)
		}
	}
	return names
}

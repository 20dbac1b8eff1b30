package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

type waitCommand struct {
	For string `arg:"" help:"What to wait for: ready or settled." enum:"ready,settled" placeholder:"ready|settled"`
	gridOutput
	Within time.Duration `help:"Time limit of the wait." default:"2m"`
}

type awaited struct {
	State   string `json:"state"` // ready or settled
	Grid    string `json:"grid"`
	Name    string `json:"name"`
	Members int    `json:"members"` // that were asked and are ready, or all of a settled grid
}

func (a awaited) text() string {
	if a.State == "settled" {
		return fmt.Sprintf("settled: grid %s, %s", a.Name, counted(a.Members, "member"))
	}
	return fmt.Sprintf("ready: %d of %s", a.Members, counted(a.Members, "member"))
}

// waitPause is the time between two questions.
const waitPause = 250 * time.Millisecond

// countdown matches the part of a reason that changes each time.
var countdown = regexp.MustCompile(` \(in [0-9][^)]*\)|\b[0-9.]+m?s\b`)

// lookLeast is the time after which a look without an answer shows that the member is silent. A look that the end
// of the wait cuts off earlier shows nothing.
const lookLeast = time.Second

func (c *waitCommand) Run(parent context.Context, to streams) error {
	if c.Within <= 0 {
		return badValue("within", c.Within.String(), "give a duration above 0, such as 2m")
	}
	if err := checkAddrs(c.Addr...); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(parent, c.Within)
	defer cancel()
	said, last := "", error(nil)
	for {
		began := time.Now()
		reached, err := c.look(ctx)
		if err == nil {
			return c.line(to.out, reached, "%s", reached.text())
		}
		if isNotTrusted(err) || isSettingError(err) || exitStatusOf(err) == exitUsage {
			return err
		}
		if ctx.Err() == nil {
			last = err
			if reason := countdown.ReplaceAllString(err.Error(), ""); reason != said {
				said = reason
				fmt.Fprintf(to.err, "snowgrid: waiting: %s\n", sentence(err))
			}
		}
		select {
		case <-time.After(waitPause):
		case <-ctx.Done():
			if parent.Err() != nil {
				return fmt.Errorf("interrupted: not %s yet: %w", c.For, cmp.Or(last, err))
			}
			if last != nil && (time.Since(began) < lookLeast || errors.Is(err, context.DeadlineExceeded)) {
				err = last
			}
			return &exitError{status: exitStatusOf(err), err: fmt.Errorf("not %s within %v: %w", c.For, c.Within, err)}
		}
	}
}

// look returns the state that was reached, or the reason to wait.
func (c *waitCommand) look(ctx context.Context) (reached awaited, err error) {
	reached.State = c.For
	if c.For == "settled" {
		status, err := c.status(ctx)
		switch {
		case err != nil:
			return reached, err
		case !status.Settled:
			return reached, degraded("grid %s is not settled: %s", status.Name, status.NotSettled)
		}
		reached.Grid, reached.Name, reached.Members = status.Grid, status.Name, len(status.Members)
		return reached, nil
	}
	for _, addr := range c.Addr {
		one := c.gridFlags
		one.Addr = []string{addr}
		status, err := one.status(ctx)
		switch {
		case err != nil:
			return reached, err
		case !status.Ready:
			return reached, degraded("%s is not ready: %s", addr, reasonOf(status))
		}
		reached.Grid, reached.Name, reached.Members = status.Grid, status.Name, reached.Members+1
	}
	return reached, nil
}

func reasonOf(s grid.Status) string {
	return cmp.Or(s.NotReady, "it does not say why")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/snowgrid/snowgrid/roster"
)

// busyVar makes a process of this program a busy loop.
const busyVar = "SNOWGRID_FAILOVER_BUSY"

// spin never returns.
func spin() {
	for n := 0; ; n++ {
	}
}

// calm watches agents that nothing happens to, beside busy loops: each change of the leader or
// of the roster is a false alarm. A leader that is deposed and elected again is seen too, by the
// moment in which there is none.
func (f *fleet) calm(ctx context.Context) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for range *loops {
		loop := exec.Command(self)
		loop.Env = append(os.Environ(), busyVar+"=1")
		if err := loop.Start(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, loop.Process.Kill(), waited(loop)) }()
	}
	leader, version, err := f.atRest(ctx)
	if err != nil {
		return err
	}
	began, told := time.Now(), time.Now()
	asked, late, changes := 0, 0, 0
	for time.Since(began) < *calmFor && ctx.Err() == nil {
		for i := range f.agents {
			s, err := f.status(ctx, i)
			asked++
			switch {
			case err != nil:
				late++
			case s.Leader != leader || s.Version > version:
				changes++
				fmt.Printf("calm: after %v agent %d has leader %q and version %d, after %q and %d\n",
					time.Since(began).Round(time.Millisecond), i, s.Leader, s.Version, leader, version)
				leader, version = s.Leader, max(version, s.Version)
			}
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			fmt.Printf("calm: %v of %v, %d changes\n", time.Since(began).Round(time.Second), *calmFor, changes)
		}
		time.Sleep(100 * time.Millisecond)
	}
	fmt.Printf("RESULT calm: %d changes of leader or roster in %v beside %d busy loops; %d questions, %d without an answer within a second\n",
		changes, time.Since(began).Round(time.Second), *loops, asked, late)
	return ctx.Err()
}

// atRest waits until the roster has not changed for a while.
func (f *fleet) atRest(ctx context.Context) (leader string, version roster.Version, err error) {
	var since time.Time
	_, err = await("the roster stays as it is", func() bool {
		s, err := f.status(ctx, 0)
		if err != nil || s.Leader == "" || s.Leader != leader || s.Version != version {
			leader, version, since = s.Leader, s.Version, time.Now()
		}
		return time.Since(since) > 10*time.Second
	})
	return leader, version, err
}

// waited waits for the end of a killed process.
func waited(p *exec.Cmd) error {
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) {
		return err
	}
	return nil
}

//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// busyVar makes a process of this program a busy loop.
const busyVar = "SNOWGRID_FAILOVER_BUSY"

// spin never returns.
func spin() {
	for n := 0; ; n++ {
	}
}

// calm watches agents that nothing happens to, beside busy loops. Another leader, or a change of
// the roster, is a false alarm. An agent that knows of no leader for a moment had no processor for
// so long that it missed the leader's heartbeats; the others did not follow it. over names the bound that
// is broken: no alarm is allowed.
func (f *fleet) calm(ctx context.Context) (over, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for range *loops {
		loop := exec.Command(self)
		loop.Env = append(os.Environ(), busyVar+"=1")
		if err := loop.Start(); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, loop.Process.Kill(), waited(loop)) }()
	}
	leader, version, err := f.atRest(ctx)
	if err != nil {
		return nil, err
	}
	began, told := time.Now(), time.Now()
	asked, late, alarms, without := 0, 0, 0, 0
	known := [len(f.agents)]bool{true, true, true}
	result := func(what string) {
		fmt.Printf("%s: %d changes of leader or roster in %v beside %d busy loops; an agent knew of no leader %d times; %d "+
			"questions, %d without an answer within a second\n",
			what, alarms, time.Since(began).Round(time.Second), *loops, without, asked, late)
	}
	for time.Since(began) < *calmFor && ctx.Err() == nil {
		for i := range f.agents {
			s, err := f.status(ctx, i)
			if asked++; err != nil {
				late++
				continue
			}
			if s.Leader == "" && known[i] {
				without++
			}
			known[i] = s.Leader != ""
			if known[i] && s.Leader != leader || s.Version > version {
				alarms++
				leader, version = s.Leader, s.Version
				result("calm")
			}
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			result("calm")
		}
		time.Sleep(100 * time.Millisecond)
	}
	result("RESULT calm")
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case alarms > 0:
		over = fmt.Errorf("failover: calm: %d changes of leader or roster, none is allowed", alarms)
	case 10*late > asked:
		over = fmt.Errorf("failover: calm: %d of %d questions without an answer: that shows nothing", late, asked)
	}
	return over, nil
}

// atRest waits until the roster has not changed for a while.
func (f *fleet) atRest(ctx context.Context) (leader string, version uint64, err error) {
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

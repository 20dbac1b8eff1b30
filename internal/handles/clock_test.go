package handles

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/internal/clustertime"
)

const someTime = 1_800_000_000_000

func TestClockSlewsAndSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		if c.Now() != 0 {
			t.Error("a new clock knows the time")
		}
		c.Sample(0)
		c.Sample(-5)
		if c.Now() != 0 {
			t.Error("a time of 0 is a sample")
		}
		c.Sample(someTime)
		if c.Now() != someTime {
			t.Errorf("the clock shows %d", c.Now())
		}
		last := c.Now()
		for i := range 200 {
			time.Sleep(7 * time.Millisecond)
			c.Sample(someTime + clustertime.Tick(i%13-9)*100)
			if now := c.Now(); now < last {
				t.Fatalf("from %d back to %d", last, now)
			}
			last = c.Now()
		}
		for range 10 {
			c.Sample(someTime - 60_000)
		}
		if now := c.Now(); now != someTime-60_000 {
			t.Errorf("a minute ahead of ten samples the clock still shows %d", now)
		}
		c.Forget()
		c.Sample(5000)
		if c.Now() != 5000 {
			t.Errorf("in another grid the clock shows %d", c.Now())
		}
	})
}

func TestClockWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewClock()
		took := func(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) (time.Duration, error) {
			began := time.Now()
			err := c.Wait(ctx, until, wake)
			return time.Since(began), err
		}
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if d, err := took(short, someTime, nil); err == nil || d != 50*time.Millisecond {
			t.Errorf("waiting without a time: %v, %v", d, err)
		}
		wants(t, c.Wait(short, 0, nil), context.DeadlineExceeded)
		time.AfterFunc(95*time.Millisecond, func() { c.Sample(someTime + 10) })
		if d, err := took(t.Context(), someTime, nil); err != nil || d != 100*time.Millisecond {
			t.Errorf("until the time was known: %v, %v", d, err)
		}
		if d, err := took(t.Context(), c.Now()+2500, nil); err != nil || d < 2500*time.Millisecond ||
			d > 2502*time.Millisecond {
			t.Errorf("2.5 s: %v, %v", d, err)
		}
		wake := make(chan struct{})
		time.AfterFunc(time.Second/3, func() { close(wake) })
		if d, err := took(t.Context(), 1<<60, wake); err != nil || d != time.Second/3 {
			t.Errorf("woken: %v, %v", d, err)
		}
		time.AfterFunc(500*time.Millisecond, func() { c.Sample(c.Now() + 3_600_000) })
		if d, err := took(t.Context(), c.Now()+3_600_000, nil); err != nil || d > waitStep+time.Millisecond {
			t.Errorf("a jump ahead: %v, %v", d, err)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/3, stop)
		if d, err := took(ctx, 1<<60, nil); err == nil || d != time.Second/3 {
			t.Errorf("cancelled: %v, %v", d, err)
		}
		if d, err := took(ctx, c.Now().Add(nap), wake); !errors.Is(err, context.Canceled) || d > (nap+1).Duration() {
			t.Errorf("a nap when both have ended: %v, %v", d, err)
		}
	})
}

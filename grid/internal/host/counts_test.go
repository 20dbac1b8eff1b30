package host

import (
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
)

// TestLagIsOfTheOldestUpdate: a replica lags since the first update that it did not
// acknowledge, however often that is sent; one that is no longer awaited does not count.
func TestLagIsOfTheOldestUpdate(t *testing.T) {
	var s unacknowledged
	one, two := update{1, "a"}, update{2, "b"}
	all := func(update) bool { return true }
	if got := oldest(s.ages(time.Hour, all)); got != 0 {
		t.Errorf("without updates the lag is %v", got)
	}
	s.sent(one, 1*time.Second)
	s.sent(two, 2*time.Second)
	s.sent(one, 3*time.Second)
	if got := oldest(s.ages(5*time.Second, all)); got != 4*time.Second {
		t.Errorf("the lag is %v, want 4s", got)
	}
	s.acknowledged(one)
	if got := oldest(s.ages(5*time.Second, all)); got != 3*time.Second {
		t.Errorf("the lag is %v, want 3s", got)
	}
	if got := oldest(s.ages(5*time.Second, func(u update) bool { return u != two })); got != 0 {
		t.Errorf("the lag is %v after the replica left", got)
	}
	if got := oldest(s.ages(6*time.Second, all)); got != 0 {
		t.Errorf("an update that was not awaited counts again: %v", got)
	}
}

// TestRateOfSteadyUse: the rate is that of the reports from the first minute on, and falls
// when there are no more.
func TestRateOfSteadyUse(t *testing.T) {
	var s usage
	now := time.Hour
	for range 600 {
		s.add(now, wire.Used{Name: "orders", IDs: 4000})
		if used, rate := s.recent("orders", now, time.Minute); rate < 900 || rate > 1100 || used.IDs == 0 {
			t.Fatalf("after %v the rate is %.0f, want about 1000", now-time.Hour, rate)
		}
		now += 4 * time.Second
	}
	if _, rate := s.recent("orders", now+2*usageHalf, time.Hour); rate < 200 || rate > 300 {
		t.Errorf("two half-lives later the rate is %.0f, want about 250", rate)
	}
	if used, rate := s.recent("orders", now+time.Minute+1, time.Minute); rate != 0 || used.IDs == 0 {
		t.Errorf("nothing was reported for a minute: %.1f IDs per second of %d", rate, used.IDs)
	}
	if used, rate := s.recent("absent", now, time.Minute); rate != 0 || used.IDs != 0 {
		t.Errorf("an unknown name has %v, %v", used, rate)
	}
}

func oldest(ages map[roster.Incarnation]time.Duration) (oldest time.Duration) {
	for _, age := range ages {
		oldest = max(oldest, age)
	}
	return oldest
}

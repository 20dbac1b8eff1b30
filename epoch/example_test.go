package epoch_test

import (
	"fmt"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
)

func Example() {
	var e epoch.Epoch
	fmt.Println(e)
	fmt.Println(e == epoch.Default)
	// Output:
	// 2026-01-01T00:00:00.000Z
	// true
}

func ExampleAt() {
	e := epoch.At(time.Date(2025, time.June, 1, 0, 0, 0, 0, time.UTC))
	fmt.Println(e, e.UnixMilli())
	// Output: 2025-06-01T00:00:00.000Z 1748736000000
}

func ExampleUnixMilli() {
	fmt.Println(epoch.UnixMilli(1_288_834_974_657) == epoch.Twitter)
	// Output: true
}

func ExampleEpoch_Time() {
	fmt.Println(epoch.Discord.Time())
	// Output: 2015-01-01 00:00:00 +0000 UTC
}

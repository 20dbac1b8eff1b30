package sequencer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

var newAt = clustertime.TickOf(time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC))

func TestCheckNewRefusesNamesThatLookLikeOthers(t *testing.T) {
	for name, part := range map[string]string{
		"orders ":          `"orders " begins or ends with a space`,
		" orders":          `" orders" begins or ends with a space`,
		" ":                `" " begins or ends with a space`,
		"ord\u00a0ers":     "U+00A0",
		"orders\u3000":     "U+3000",
		"ord\u2003ers":     "U+2003",
		"ord\u200bers":     "U+200B",
		"\ufefforders":     "U+FEFF",
		"ord\u00aders":     "U+00AD",
		"\u202eorders":     "U+202E",
		"or\u200dders":     "U+200D",
		"ord\u2028ers":     "U+2028",
		"ord\u2029ers":     "U+2029",
		"orders\U000e0041": "U+E0041",
		"or\u2060ders":     "U+2060 at position 3",
		"orders\u2800":     "U+2800 at position 7",
		"orders\u115f":     "U+115F at position 7",
		"orders\u1160":     "U+1160 at position 7",
		"\u3164orders":     "U+3164 at position 1",
		"orders\uffa0":     "U+FFA0 at position 7",
		"ord\u034fers":     "U+034F at position 4",
		"orders\ufe00":     "U+FE00 at position 7",
		"orders\ufe0f":     "U+FE0F at position 7",
		"orders\U000e0100": "U+E0100 at position 7",
		"注文\U000e01ef":     "U+E01EF at position 3",
	} {
		d, err := sequencer.Define(name, sequencer.Config{})
		if err != nil {
			t.Errorf("Define(%q) = %v, so that a stored name cannot be read", name, err)
			continue
		}
		err = attachment.CheckNew(d, newAt)
		if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), part) {
			t.Errorf("CheckNew of %q = %v, want ErrInvalidConfig with %q", name, err, part)
		}
	}
	for _, name := range []string{"orders", "a b", "größe", "注文", "заказы", "shop/eu-1:orders", "🛒"} {
		d, err := sequencer.Define(name, sequencer.Config{})
		if err = errors.Join(err, attachment.CheckNew(d, newAt)); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckNewRefusesEpochsInSeconds(t *testing.T) {
	layouts := map[string]sequencer.Layout{"default": {}, "twitter": sequencer.Twitter(), "jssafe": sequencer.JSSafe(),
		"longest": {Bits: 63, LowBits: 17, Nodes: 1024}}
	for name, layout := range layouts {
		for _, ms := range []int64{100_000_000, 1_288_834_974, 1_767_225_600, 9_999_999_999} {
			d, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(ms), Layout: layout})
			if err != nil {
				t.Fatal(err)
			}
			err = attachment.CheckNew(d, newAt)
			if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "in milliseconds") ||
				!strings.Contains(err.Error(), "looks like seconds") {
				t.Errorf("layout %s: CheckNew with epoch %d = %v, want ErrInvalidConfig that speaks of seconds", name, ms, err)
			}
		}
	}
	for _, ms := range []int64{0, 86_400_000, 10_000_000_000, 946_684_800_000, 1_767_225_600_000} {
		d, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.UnixMilli(ms), Layout: layouts["longest"]})
		if err = errors.Join(err, attachment.CheckNew(d, newAt)); err != nil {
			t.Errorf("epoch %d: %v", ms, err)
		}
	}
}

func TestCheckNewChecksTheTime(t *testing.T) {
	d, err := sequencer.Define("orders", sequencer.Config{Epoch: epoch.At(newAt.Time()) + 1})
	if err != nil {
		t.Fatal(err)
	}
	err = attachment.CheckNew(d, newAt)
	if !errors.Is(err, sequencer.ErrInvalidConfig) || !strings.Contains(err.Error(), "future") {
		t.Errorf("CheckNew with an epoch in the future = %v", err)
	}
}

package sequencer_test

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/sequencer"
)

// IDs that the other systems have published, with their parts.
func TestPresetsDecodePublishedIDs(t *testing.T) {
	for _, tc := range []struct {
		name string
		cfg  sequencer.Config
		id   sequencer.ID
		want sequencer.Parts
	}{
		{"a tweet of Wikipedia", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}, 1541815603606036480,
			sequencer.Parts{Time: time.Date(2022, time.June, 28, 16, 7, 40, 105e6, time.UTC), Node: 378}},
		{"the example of Discord's documentation", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Discord},
			175928847299117063,
			sequencer.Parts{Time: time.Date(2016, time.April, 30, 11, 18, 25, 796e6, time.UTC), Node: 1 << 5, Counter: 7}},
		{"the Unix epoch, 10 worker bits, 12 sequence bits",
			sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.UnixMilli(0)}, 1_763_769_600_123<<22 | 1023<<12 | 4095,
			sequencer.Parts{Time: time.UnixMilli(1_763_769_600_123).UTC(), Node: 1023, Counter: 4095}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := define(t, "tweets", tc.cfg)
			if got := d.Decompose(tc.id); got != tc.want {
				t.Errorf("Decompose(%d) = %+v, want %+v", tc.id, got, tc.want)
			}
			if got, err := d.Compose(tc.want); got != tc.id || err != nil {
				t.Errorf("Compose = %d, %v; want %d", got, err, tc.id)
			}
			if d.MinID(tc.want.Time) > tc.id || d.MaxID(tc.want.Time) < tc.id {
				t.Errorf("%d is not in %d..%d", tc.id, d.MinID(tc.want.Time), d.MaxID(tc.want.Time))
			}
		})
	}
}

func TestPresetsEnd(t *testing.T) {
	for _, tc := range []struct {
		cfg  sequencer.Config
		end  string
		last sequencer.ID
	}{
		{sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter}, "2080-07-10", 1<<63 - 1},
		{sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.UnixMilli(0)}, "2039-09-07", 1<<63 - 1},
		{sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Discord}, "2084-09-06", 1<<63 - 1},
		{sequencer.Config{Layout: sequencer.JSSafe()}, "2095-09-07", 1<<53 - 1},
	} {
		d := define(t, "tweets", tc.cfg)
		if got := d.Exhausted().Format(time.DateOnly); got != tc.end {
			t.Errorf("%v ends on %s, want %s", d, got, tc.end)
		}
		if got := d.MaxID(d.Exhausted()); got != tc.last {
			t.Errorf("%v: the last ID is %d, want %d", d, got, tc.last)
		}
		if _, err := d.Compose(sequencer.Parts{Time: d.Exhausted()}); !errors.Is(err, sequencer.ErrEpochExhausted) {
			t.Errorf("%v: Compose at the end: %v", d, err)
		}
	}
}

// IDs of JSSafe are numbers that JavaScript represents exactly: what JSON.parse makes of
// their digits prints as the same digits. Larger IDs do not survive.
func TestJSSafeIDsSurviveJSONParse(t *testing.T) {
	d := define(t, "clicks", sequencer.Config{Layout: sequencer.JSSafe()})
	last := d.MaxID(d.Exhausted())
	var ids []string
	for _, id := range []sequencer.ID{0, 1, d.MinID(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)), last - 1, last} {
		ids = append(ids, id.String())
		if float := float64(id); sequencer.ID(float) != id || sequencer.ID(float+1) != id+1 {
			t.Errorf("%d is not exact as a float64", id)
		}
	}
	whole := define(t, "orders", sequencer.Config{})
	ids = append(ids, (whole.MaxID(whole.Exhausted()) - 1).String())
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no JavaScript engine; install nodejs to have JSON.parse read the IDs (the arithmetic was checked)")
	}
	script := `for (const t of process.argv.slice(1)) console.log(String(JSON.parse(t)) === t)`
	out, err := exec.CommandContext(t.Context(), node, append([]string{"-e", script}, ids...)...).Output()
	want := strings.Repeat("true\n", len(ids)-1) + "false\n"
	if err != nil || string(out) != want {
		t.Errorf("JSON.parse of %v: %q, %v; want %q", ids, out, err, want)
	}
}

func TestDefineLayouts(t *testing.T) {
	twitter := define(t, "tweets", sequencer.Config{Layout: sequencer.Twitter(), Epoch: epoch.Twitter})
	if got, want := twitter.String(),
		`"tweets" (epoch 2010-11-04T01:42:54.657Z, 1024 nodes, layout 63/22/1024)`; got != want {
		t.Errorf("String() = %s, want %s", got, want)
	}
	if twitter.Config().Layout != sequencer.Twitter() || twitter.Config().Nodes != 1024 {
		t.Errorf("%v has layout %v, %d nodes", twitter, twitter.Config().Layout, twitter.Config().Nodes)
	}
	plain := define(t, "tweets", sequencer.Config{})
	if same := define(t, "tweets",
		sequencer.Config{Layout: sequencer.Layout{Bits: 63, LowBits: 23, Nodes: 8192}}); same != plain {
		t.Errorf("the stated 63/23/8192 defines %v, want %v", same, plain)
	}
	if got := plain.Config().Layout; got != (sequencer.Layout{Bits: 63, LowBits: 23, Nodes: 8192}) {
		t.Errorf("the zero layout is %+v", got)
	}
	for _, cfg := range []sequencer.Config{
		{Layout: sequencer.Twitter()}, {Layout: sequencer.Twitter(), Nodes: 16}, {Layout: sequencer.JSSafe(), Nodes: 50},
		{Layout: sequencer.Layout{Bits: 63, LowBits: 22, Nodes: 512}},
		{Layout: sequencer.Layout{Bits: 62, LowBits: 22, Nodes: 1024}},
		{Nodes: 128, Epoch: epoch.UnixMilli(5)},
	} {
		d := define(t, "tweets", cfg)
		if again := define(t, "tweets", d.Config()); again != d {
			t.Errorf("the Config of %v defines %v", d, again)
		}
		if d == plain || d == twitter {
			t.Errorf("%v equals another definition", d)
		}
	}
}

func TestDefineRefusesLayouts(t *testing.T) {
	for _, tc := range []struct {
		bits, low, most, nodes int
		says                   string
	}{
		{53, 0, 0, 0, "given together"},
		{0, 22, 1024, 0, "given together"},
		{63, 22, 0, 16, "given together"},
		{64, 22, 1024, 0, "at most 63"},
		{-1, 22, 1024, 0, "at most 63"},
		{63, 22, 1000, 0, "power of two from 16 to 8192"},
		{63, 22, 8, 0, "power of two from 16 to 8192"},
		{63, 22, 16384, 0, "power of two from 16 to 8192"},
		{63, 22, -1024, 0, "power of two from 16 to 8192"},
		{63, 10, 1024, 0, "give 11 to 24"},
		{63, 25, 1024, 0, "give 11 to 24"},
		{63, -22, 1024, 0, "give 11 to 24"},
		{53, 22, 1024, 0, "31 bits of timestamp"},
		{63, 16, 1024, 0, "47 bits of timestamp"},
		{63, 22, 1024, 15, "16 to 1024 in layout 63/22/1024, or 0 for 1024"},
		{63, 22, 1024, 1025, "16 to 1024 in layout 63/22/1024"},
		{63, 22, 1024, -1, "fewer than 16"},
		{63, 23, 8192, 16, "128 to 8192"},
	} {
		l := sequencer.Layout{Bits: tc.bits, LowBits: tc.low, Nodes: tc.most}
		d, err := sequencer.Define("tweets", sequencer.Config{Layout: l, Nodes: tc.nodes})
		if !errors.Is(err, sequencer.ErrInvalidConfig) || d != (sequencer.Definition{}) ||
			!strings.HasPrefix(err.Error(), "sequencer: ") ||
			!strings.Contains(err.Error(), tc.says) {
			t.Errorf("%d nodes of %v: %v, %v; want ErrInvalidConfig that says %q", tc.nodes, l, d, err, tc.says)
		}
	}
}

func TestParseLayout(t *testing.T) {
	for text, want := range map[string]sequencer.Layout{
		"default": {}, "twitter": sequencer.Twitter(), "discord": sequencer.Twitter(), "jssafe": sequencer.JSSafe(),
		"63/22/1024": sequencer.Twitter(), "53/12/64": sequencer.JSSafe(), "63/23/8192": {Bits: 63, LowBits: 23, Nodes: 8192},
	} {
		got, err := sequencer.ParseLayout(text)
		if err != nil || got != want {
			t.Errorf("ParseLayout(%q) = %v, %v; want %v", text, got, err, want)
		}
		if back, err := sequencer.ParseLayout(got.String()); err != nil || back.String() != got.String() {
			t.Errorf("%v is read as %v, %v", got, back, err)
		}
	}
	for _, text := range []string{"", "Twitter", "63/22", "63/22/1024/1", "63/-22/1024", "63/22/1e3", "0/0/0",
		" 63/22/1024", "99999999999999999999/1/1", strings.Repeat("6", 1000)} {
		if got, err := sequencer.ParseLayout(text); !errors.Is(err, sequencer.ErrInvalidConfig) || len(err.Error()) > 300 {
			t.Errorf("ParseLayout(%.40q) = %v, %v; want a short ErrInvalidConfig", text, got, err)
		}
	}
}

// A small sequencer keeps half of its nodes from one process.
func TestCheckStripesOfASmallLayout(t *testing.T) {
	d := define(t, "tweets", sequencer.Config{Layout: sequencer.Twitter(), Nodes: 16})
	if err := attachment.CheckStripes(d, 8); err != nil {
		t.Error(err)
	}
	if err := attachment.CheckStripes(d, 9); !errors.Is(err, sequencer.ErrInvalidConfig) ||
		!strings.Contains(err.Error(), "1 to "+strconv.Itoa(8)) {
		t.Errorf("9 stripes of 16 nodes: %v", err)
	}
}

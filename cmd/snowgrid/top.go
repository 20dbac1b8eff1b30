package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/signal"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

// topCommand prints the busiest sequencers periodically.
type topCommand struct {
	Every  time.Duration `help:"Time between two looks." default:"2s"`
	Rounds int           `short:"n" help:"Number of looks; 0 to look until q or Ctrl-C." default:"0"`
	Limit  int           `help:"Number of sequencers." default:"15"`
	gridOutput
}

func (c *topCommand) Validate() error {
	switch {
	case c.Every < 100*time.Millisecond || c.Every > time.Hour:
		return fmt.Errorf("--every=%v: give 100ms to 1h", c.Every)
	case c.Rounds < 0:
		return fmt.Errorf("--rounds=%d: give 1 or more, or 0 for no end", c.Rounds)
	case c.Limit < 1 || c.Limit > wire.MaxPage:
		return fmt.Errorf("--limit=%d: give 1 to %d", c.Limit, wire.MaxPage)
	}
	return nil
}

// topLook is one look, as -o json writes it.
type topLook struct {
	Time       time.Time `json:"time"`
	Grid       string    `json:"grid"`
	Name       string    `json:"name"` // the grid's
	Leader     string    `json:"leader"`
	Members    int       `json:"members"`
	Alive      int       `json:"alive"`      // of the members
	Ahead      int64     `json:"ceiling_ms"` // of the ceiling before cluster time
	IDs        float64   `json:"ids_per_second"`
	Sequencers []topRow  `json:"sequencers"` // the busiest first

	settled string // "" if the grid is settled, else why it is not
}

type topRow struct {
	Name     string  `json:"name"`
	IDs      float64 `json:"ids_per_second"`
	Waits    float64 `json:"waits_per_second"`
	Attached int     `json:"attached"`
	Nodes    int     `json:"nodes"`
	Owner    string  `json:"owner"` // its name, or its incarnation
}

// Run refreshes until ctx ends or the rounds are over. A failed first request ends it; later failures
// are printed.
func (c *topCommand) Run(ctx context.Context, to streams) error {
	var rates topRates
	live := !c.json() && isTerminal(to.out)
	if live {
		quitting, done := untilQuit(ctx, to.in)
		defer done()
		ctx = quitting
	}
	for round := 1; ; round++ {
		look, err := asked(ctx, c.gridFlags, func(ctx context.Context) (topLook, error) { return c.look(ctx, &rates) })
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && round == 1:
			return asking(err)
		case err != nil:
			fmt.Fprintf(to.err, "snowgrid: %s\n", sentence(err))
		default:
			if err := c.show(to.out, look, live); err != nil {
				return err
			}
		}
		if round == c.Rounds {
			return nil
		}
		if !signal.Sleep(ctx, c.Every) {
			return nil
		}
	}
}

// look fetches the grid's state and the busiest sequencers from a member.
func (c *topCommand) look(ctx context.Context, rates *topRates) (topLook, error) {
	var status grid.Status
	var page wire.SequencersResponse
	_, err := eachUntilAnswered(ctx, c.Addr, func(ctx context.Context, addr string) error {
		in := wire.SequencersRequest{Busiest: true, Limit: max(c.Limit, wire.DefaultPage)}
		if err := postTo(ctx, addr, "", wire.PathSequencers, in, &page); err != nil {
			return err
		}
		return postTo(ctx, addr, "", wire.PathStatus, wire.StatusRequest{Local: true}, &status)
	})
	if err != nil {
		return topLook{}, err
	}
	look := topLook{
		Time: time.Now().UTC(), Grid: status.Grid, Name: status.Name,
		Leader: cmp.Or(status.LeaderName, status.Leader), Members: len(status.Members),
		Ahead: status.Ceiling.Sub(status.ClusterTime).Milliseconds(), settled: status.NotSettled,
	}
	for _, m := range status.Members {
		if m.Alive {
			look.Alive++
		}
	}
	look.Sequencers = rates.next(look.Time, page.Sequencers)
	for _, row := range look.Sequencers {
		look.IDs += row.IDs
	}
	look.Sequencers = look.Sequencers[:min(len(look.Sequencers), c.Limit)]
	return look, nil
}

func (c *topCommand) show(w io.Writer, look topLook, live bool) error {
	if c.json() {
		return json.NewEncoder(w).Encode(look)
	}
	if live {
		return c.screen(w, look)
	}
	at := look.Time.Format(time.RFC3339)
	if len(look.Sequencers) == 0 {
		_, err := fmt.Fprintf(w, "%s no IDs reported\n", at)
		return err
	}
	for _, r := range look.Sequencers {
		_, err := fmt.Fprintf(w, "%s sequencer=%q ids_per_second=%.1f waits_per_second=%.1f attached=%d nodes=%d owner=%s\n",
			at, r.Name, r.IDs, r.Waits, r.Attached, r.Nodes, r.Owner)
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	home       = "\x1b[H"  // to the first line
	clearRight = "\x1b[K"  // the rest of the line
	clearBelow = "\x1b[0J" // the rest of the screen
)

// screen writes one look over the one before it.
func (c *topCommand) screen(w io.Writer, look topLook) error {
	var text strings.Builder
	fmt.Fprintf(&text, "snowgrid top: grid %s, %s UTC, every %v, q to end\n", look.Name,
		look.Time.Format(time.TimeOnly), c.Every)
	fmt.Fprintf(&text, "%d of %s alive, leader %s, ceiling %s ahead%s\n", look.Alive, counted(look.Members, "member"),
		orNone(look.Leader),
		span(time.Duration(look.Ahead)*time.Millisecond), unless(look.settled == "", ", not settled"))
	fmt.Fprintf(&text, "%s IDs/s\n\n", perSecond(look.IDs))
	_ = aligned(&text, func(w io.Writer) { // a strings.Builder takes everything
		fmt.Fprint(w, "SEQUENCER\tIDS/S\tWAITS/S\tATTACHED\tNODES\tOWNER\n")
		for _, r := range look.Sequencers {
			fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\n", short(shown(r.Name), nameWidth), perSecond(r.IDs), perSecond(r.Waits),
				r.Attached, r.Nodes, short(r.Owner, 20))
		}
	})
	_, err := io.WriteString(w, home+strings.ReplaceAll(text.String(), "\n", clearRight+"\n")+clearBelow)
	return err
}

// Rates are taken over topSpan, and over topSpanLeast at least: holders report every few
// seconds.
const (
	topSpan      = 16 * time.Second
	topSpanLeast = 8 * time.Second
)

// topRates computes rates from the counts at several looks.
type topRates struct {
	looks []topCounts // in the last topSpan, ascending
}

type topCounts struct {
	at   time.Time
	rows map[string]wire.SequencerRow
}

// next records a refresh, and returns its sequencers by descending rate: measured over the last
// replies by the same owner, or the owner's own rate until those span enough time.
func (r *topRates) next(at time.Time, rows []wire.SequencerRow) []topRow {
	r.looks = slices.DeleteFunc(r.looks, func(c topCounts) bool { return at.Sub(c.at) > topSpan })
	now := topCounts{at: at, rows: map[string]wire.SequencerRow{}}
	out := []topRow{}
	for _, row := range rows {
		now.rows[row.Name] = row
		shown := topRow{Name: row.Name, IDs: row.Recent, Attached: row.Attached,
			Nodes: sequencer.NodeRange(row.NodeRange).Count(row.Nodes), Owner: cmp.Or(row.OwnerName, string(row.Owner))}
		for _, before := range r.looks {
			then, found := before.rows[row.Name]
			passed := at.Sub(before.at).Seconds()
			if found && then.Owner == row.Owner && then.IDs <= row.IDs && then.Waits <= row.Waits &&
				passed >= topSpanLeast.Seconds() {
				shown.IDs, shown.Waits = float64(row.IDs-then.IDs)/passed, float64(row.Waits-then.Waits)/passed
				break // the oldest look
			}
		}
		out = append(out, shown)
	}
	r.looks = append(r.looks, now)
	slices.SortStableFunc(out, func(a, b topRow) int {
		return cmp.Or(cmp.Compare(b.IDs, a.IDs),
			strings.Compare(a.Name, b.Name))
	})
	return out
}

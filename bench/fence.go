package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/clustertime"
	"github.com/snowgrid/snowgrid/sequencer"
)

// The cost of never using IDs beyond a grant: a handle with short grants that are extended, in
// turns with a handle whose only grant ends after the measurement.

// lone is a single handle's backend, without a grid.
type lone struct{ until clustertime.Tick }

func (l lone) Attach(context.Context, attachment.Ref, attachment.Preference) (attachment.Attachment, error) {
	a := attachment.Attachment{ID: attachment.ID{1}}
	a.Grant = attachment.Grant{From: wall{}.Now(), Until: l.until}
	return a, nil
}

func (lone) Detach(context.Context, attachment.Ref, attachment.Release) error { return nil }
func (lone) Destroy(context.Context, attachment.Ref) error                    { return nil }

// wall is this machine's time.
type wall struct{}

func (wall) Now() clustertime.Tick { return clustertime.TickOf(time.Now()) }

func (wall) Read() (clustertime.Tick, time.Duration, time.Duration) {
	now := time.Now()
	left := time.Millisecond - time.Duration(now.Nanosecond())%time.Millisecond
	return clustertime.TickOf(now), left, time.Since(started)
}

var started = time.Now()

func (w wall) Wait(ctx context.Context, until clustertime.Tick, wake <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case <-time.After(until.Sub(w.Now()).Duration()):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attached returns a handle with 65,536 IDs per millisecond and a grant that ends after last.
func attached(ctx context.Context, last time.Duration) (*sequencer.Sequencer, *attachment.Control, error) {
	d, err := sequencer.Define("fence", sequencer.Config{Nodes: 128})
	if err != nil {
		return nil, nil, err
	}
	backend := lone{until: wall{}.Now().Add(clustertime.SpanOf(last))}
	s, control := attachment.New(attachment.Ref{Definition: d, Life: attachment.Life{1}}, backend, wall{})
	return s, control, s.AttachLogicalNode(ctx)
}

func measureFence(ctx context.Context, b *bench) error {
	const window, renewal = 15 * time.Second, 3750 * time.Millisecond
	free, _, err := attached(ctx, 365*24*time.Hour)
	if err != nil {
		return err
	}
	fenced, control, err := attached(ctx, window)
	if err != nil {
		return err
	}
	handles := []generator{
		{name: "no fence", perMilli: 65536, next: func() { _, _ = free.Next(ctx) }},
		{name: "fence", perMilli: 65536, next: func() { _, _ = fenced.Next(ctx) }},
	}
	var ratios []float64
	renewed := time.Now()
	for range 10 * b.size.batches {
		if time.Since(renewed) >= renewal {
			renewed = time.Now()
			held, _ := control.Held()
			until := wall{}.Now().Add(clustertime.SpanOf(window))
			control.Renewed(held.ID, attachment.Grant{From: held.Grant.From, Until: until})
		}
		first := rand.IntN(2) // the first may run on a slower processor
		var took [2]float64
		for i := range handles {
			took[first^i] = batch(handles[first^i])
		}
		ratios = append(ratios, took[1]/took[0])
	}
	slices.Sort(ratios)
	middle, quarter := ratios[len(ratios)/2], len(ratios)/4
	b.report.p(`Two handles of one process take turns: one has grants of 15 s that are renewed every 3.75 s, the other a
single grant of a year. Both run the same code: the limit of a call is the end of the grant or the end of
the millisecond, whichever is first, and the second always exists. Of %s pairs of batches the renewed
handle took %.3f times as long as the other (median; half of all lie between %.2f and %.2f).
`, thousands(float64(len(ratios))), middle, ratios[quarter], ratios[len(ratios)-1-quarter])
	b.report.headline("one ID, grant that is renewed", fmt.Sprintf("%+.1f %% time", 100*(middle-1)), "one long grant", "")
	return ctx.Err()
}

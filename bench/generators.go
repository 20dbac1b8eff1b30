package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bwmarrin/snowflake"
	godruoyi "github.com/godruoyi/go-snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
	"github.com/sony/sonyflake/v2"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// generator is one way to make IDs.
type generator struct {
	name string
	// perMilli is the number of IDs per millisecond in its ID space, 0 for unlimited.
	perMilli float64
	next     func()
	// each is the number of IDs per call of next; 0 means 1.
	each int
}

// ids returns the number of IDs per call.
func (g generator) ids() int { return max(g.each, 1) }

// rival is the fastest alternative with an ID space as large as snowgrid's largest; ratios refer to
// it.
const rival = "bwmarrin/snowflake 6/16"

// find returns a generator's index.
func find(all []generator, name string) int {
	return slices.IndexFunc(all, func(g generator) bool { return g.name == name })
}

// pickNamed returns the generators with the given names, in the names' order.
func pickNamed(all []generator, names ...string) (out []generator) {
	for _, name := range names {
		out = append(out, all[find(all, name)])
	}
	return out
}

// snowgrid returns handles from a member started for the measurement, as in a service.
func snowgrid(ctx context.Context) (out []generator, end func(), err error) {
	member, err := grid.Start(ctx, grid.Config{})
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = member.Close() }
	for _, bits := range []int{7, 10, 13} {
		s, err := member.CreateSequencer(ctx, fmt.Sprintf("bits%d", bits), sequencer.Config{Nodes: 1 << bits})
		if err != nil {
			end()
			return nil, nil, err
		}
		perMilli := float64(int(1) << (23 - bits))
		out = append(out, generator{name: fmt.Sprintf("snowgrid %d/%d", bits, 23-bits), perMilli: perMilli,
			next: func() { _, _ = s.Next(ctx) }})
		if bits == 7 {
			buffer := make([]sequencer.ID, 64)
			out = append(out, generator{
				name: "snowgrid 7/16, Fill(64)", perMilli: perMilli, each: len(buffer),
				next: func() { _, _ = s.Fill(ctx, buffer) },
			})
			striped, err := member.CreateStriped(ctx, "striped", sequencer.Config{Nodes: 1 << bits}, 8)
			if err != nil {
				end()
				return nil, nil, err
			}
			out = append(out, generator{name: "snowgrid 7/16, 8 nodes", next: func() { _, _ = striped.Next(ctx) }})
		}
	}
	return out, end, nil
}

// peers returns a user's alternatives, with their defaults and, where possible, with an ID space as
// large as snowgrid's largest.
func peers() ([]generator, error) {
	marrin, err := snowflake.NewNode(1) // 10 and 12 bits
	if err != nil {
		return nil, err
	}
	snowflake.NodeBits, snowflake.StepBits = 6, 16
	wide, err := snowflake.NewNode(1)
	if err != nil {
		return nil, err
	}
	machine := func() (int, error) { return 1, nil }
	sony, err := sonyflake.New(sonyflake.Settings{MachineID: machine})
	if err != nil {
		return nil, err
	}
	fine, err := sonyflake.New(sonyflake.Settings{
		BitsSequence: 16, BitsMachineID: 6, TimeUnit: time.Millisecond, MachineID: machine,
	})
	if err != nil {
		return nil, err
	}
	return []generator{
		{name: rival, perMilli: 65536, next: func() { wide.Generate() }},
		{name: "bwmarrin/snowflake 10/12", perMilli: 4096, next: func() { marrin.Generate() }},
		{name: "sonyflake v2, 1 ms, 16 bits", perMilli: 65536, next: func() { _, _ = fine.NextID() }},
		{name: "sonyflake v2, default", perMilli: 25.6, next: func() { _, _ = sony.NextID() }},
		{name: "godruoyi/go-snowflake", perMilli: 4096, next: func() { godruoyi.ID() }},
		{name: "rs/xid", next: func() { xid.New() }},
		{name: "oklog/ulid", next: func() { ulid.Make() }},
		{name: "google/uuid v4", next: func() { uuid.New() }},
		{name: "google/uuid v7", next: func() { _, _ = uuid.NewV7() }},
		{name: "segmentio/ksuid", next: func() { ksuid.New() }},
	}, nil
}

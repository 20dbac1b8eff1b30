package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/snowgrid/snowgrid/internal/roster"
)

const aboutDisks = `Three members with data directories on one disk, one backup, names of 16 bytes, no attachments. A create is
answered when both copies are on disk. The same creates are also measured in a grid of three without data
directories. Then all members are killed at the same time and start again: restarted is the time from the
start until a create is answered in every partition, when each owner has collected its definitions from a
disk. Heap is the memory of all three members together per name and copy (two copies), with the memory of
bbolt; file is the size of the three definitions.db per name and copy.`

// oneCaller is the number of creates measured with one caller.
const oneCaller = 1000

// measureDisks measures the cost of size definitions on disk.
func measureDisks(ctx context.Context, size int) (p point, err error) {
	p = point{size: size}
	dirs, err := os.MkdirTemp("", "scale")
	if err != nil {
		return p, err
	}
	defer func() { _ = os.RemoveAll(dirs) }()
	var rates [2][2]float64
	if rates[0], err = measureMemory(ctx, min(size, 100_000)); err != nil {
		return p, err
	}
	w, err := startOn(ctx, 3, 0, dirs)
	if err != nil {
		return p, err
	}
	defer func() { w.end() }()
	before := heap()
	if rates[1], err = w.creates(ctx, size); err != nil {
		return p, err
	}
	for at, callers := range []int{callers, 1} {
		p.add(fmt.Sprintf("creates per second, %d callers, in memory", callers), rates[0][at], "")
		p.add(fmt.Sprintf("creates per second, %d callers, on disk", callers), rates[1][at], "")
	}
	names := float64(2 * (size + oneCaller))
	p.add("heap per name and copy", (heap()-before)/names, "B")
	bytes, err := storedBytes(dirs)
	if err != nil {
		return p, err
	}
	p.add("file per name and copy", bytes/names, "B")
	for i := range w.size {
		w.crash(memberName(i))
	}
	began := time.Now()
	if err := w.startAll(ctx); err != nil {
		return p, err
	}
	p.add("members serve again", time.Since(began).Seconds(), "s")
	if err := w.createEverywhere(ctx); err != nil {
		return p, err
	}
	p.add("restarted", time.Since(began).Seconds(), "s")
	return p, nil
}

// measureMemory measures creates in a grid without data directories.
func measureMemory(ctx context.Context, size int) (rates [2]float64, err error) {
	w, err := startWorld(ctx, 3, 0)
	if err != nil {
		return rates, err
	}
	defer w.end()
	return w.creates(ctx, size)
}

// creates creates size names concurrently, and then some more one after the other, and returns both
// rates per second.
func (w *world) creates(ctx context.Context, size int) (rates [2]float64, err error) {
	r, err := w.remote(ctx)
	if err != nil {
		return rates, err
	}
	if err := w.createEverywhere(ctx); err != nil {
		return rates, err
	}
	took, err := each(size, func(i int) error { _, err := r.create(ctx, nameOf(i)); return err })
	if err != nil {
		return rates, err
	}
	rates[0] = float64(size) / took.Seconds()
	took, err = eachBy(1, oneCaller,
		func(i int) error { _, err := r.create(ctx, fmt.Sprint("one after the other ", i)); return err })
	rates[1] = oneCaller / took.Seconds()
	return rates, err
}

// createEverywhere creates a name in each partition, or opens the existing one.
func (w *world) createEverywhere(ctx context.Context) error {
	r, err := w.remote(ctx)
	if err != nil {
		return err
	}
	names := map[roster.PartitionID]string{}
	for i := 0; len(names) < len(r.directory.Load().Owners); i++ {
		name := fmt.Sprint("everywhere ", i)
		names[r.partition(name)] = name
	}
	_, err = each(len(names), func(i int) error { _, err := r.create(ctx, names[roster.PartitionID(i)]); return err })
	return err
}

// storedBytes returns the size of all members' definitions on disk.
func storedBytes(dirs string) (bytes float64, err error) {
	files, err := filepath.Glob(filepath.Join(dirs, "*", "definitions.db"))
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return 0, err
		}
		bytes += float64(info.Size())
	}
	return bytes, err
}

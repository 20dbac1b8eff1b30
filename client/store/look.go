package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

// loadsAtOnce bounds concurrent reads of records.
const loadsAtOnce = 8

// document reads a sequencer's document with its revision.
//
// Errors: ErrNoRecord, ErrDamaged, and the store's errors.
func (rs *recordStore) document(ctx context.Context, name string) (record.Document, Revision, error) {
	key := record.KeysOf(rs.cfg.Prefix, name).Document()
	e, err := rs.load(ctx, key)
	if err != nil {
		return record.Document{}, "", fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	d, err := record.DecodeDocument(e.Body)
	if err == nil && d.Definition.Name() != name {
		err = failure.Errorf(ErrDamaged, "it is the document of %q", d.Definition.Name())
	}
	if err != nil {
		return record.Document{}, "", failure.Errorf(ErrDamaged, "store: %q: %w; restore the key from a backup", key, err)
	}
	return d, e.Revision, nil
}

// marker reads a sequencer's marker with its revision.
//
// Errors: ErrDamaged, with ErrNoRecord if it is missing; and the store's errors.
func (rs *recordStore) marker(ctx context.Context, name string) (record.Marker, Revision, error) {
	key := record.KeysOf(rs.cfg.Prefix, name).Marker()
	e, err := rs.load(ctx, key)
	if errors.Is(err, ErrNoRecord) {
		return record.Marker{}, "", failure.Errorf(ErrDamaged, "store: %q, the marker of sequencer %q, is missing: %w; "+
			"restore the key from a backup, or use a sequencer of another name", key, name, err)
	}
	if err != nil {
		return record.Marker{}, "", fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	m, err := record.DecodeMarker(e.Body)
	if err != nil {
		return record.Marker{}, "", failure.Errorf(ErrDamaged, "store: %q: %w; restore the key from a backup", key, err)
	}
	return m, e.Revision, nil
}

// markerFor is marker, for a life and the nodes that its document counts. A store may show an older marker, with
// the nodes of another life: a record that was taken by it would not be closed with this life.
//
// Errors: also sequencer.ErrDestroyed for a later life's marker, and ErrChanged for an earlier one's.
func (rs *recordStore) markerFor(ctx context.Context, of attachment.Ref, counted attachment.Life) (record.Marker,
	Revision, error) {
	name := of.Definition.Name()
	m, revision, err := rs.marker(ctx, name)
	switch {
	case err != nil || m.Life == counted:
	case m.Ended(of.Life):
		err = fmt.Errorf("sequencer %q: %w", name, sequencer.ErrDestroyed)
	default:
		err = fmt.Errorf("store: sequencer %q: the marker is of an earlier life: %w", name, ErrChanged)
	}
	return m, revision, err
}

// found is a record as it was read.
type found struct {
	record.Candidate
	revision Revision
	err      error // ErrDamaged, or the store's
}

func readRecord(node sequencer.NodeID, e Entry, err error) found {
	f := found{Candidate: record.Candidate{Node: node}, revision: e.Revision, err: err}
	switch {
	case errors.Is(err, ErrNoRecord):
		f.err = failure.Errorf(ErrDamaged,
			"store: the record of node %d is missing; find out what deleted it, then repair it", node)
	case err == nil:
		if f.Record, f.err = record.Decode(e.Body, e.Meta); f.err != nil {
			f.err = failure.Errorf(ErrDamaged, "store: %q: %w", e.Key, f.err)
		}
	}
	return f
}

func (rs *recordStore) one(ctx context.Context, name string, node sequencer.NodeID) found {
	e, err := rs.load(ctx, record.KeysOf(rs.cfg.Prefix, name).Record(node))
	if err == nil {
		rs.cache.Store(e.Key, e)
	}
	return readRecord(node, e, err)
}

// all reads the records of the definition's first n nodes, with their revisions.
//
// Errors: the errors of the listing. A single record's error is in its place.
func (rs *recordStore) all(ctx context.Context, d sequencer.Definition, n int) ([]found, error) {
	name, first := d.Name(), d.Config().NodeRange.Lo
	keys := record.KeysOf(rs.cfg.Prefix, name)
	listed, err := rs.list(ctx, keys.Folder())
	if err != nil {
		return nil, fmt.Errorf("store: sequencer %q: %w", name, err)
	}
	entries := make(map[string]Entry, len(listed))
	for _, e := range listed {
		entries[e.Key] = e
	}
	records := make([]found, n)
	var lacking []int
	for i := range records {
		node := first + sequencer.NodeID(i)
		key := keys.Record(node)
		e, there := entries[key]
		if e.Body == nil && e.Revision != "" {
			if cached, known := rs.cache.Load(key); known && cached.(Entry).Revision == e.Revision {
				e = cached.(Entry)
			}
		}
		if !there || e.Body == nil || e.Revision == "" {
			lacking = append(lacking, i) // a listing may be older than a record, too
			continue
		}
		records[i] = readRecord(node, e, nil)
	}
	rs.together(len(lacking), func(i int) {
		records[lacking[i]] = rs.one(ctx, name, first+sequencer.NodeID(lacking[i]))
	})
	return records, nil
}

// each calls f with each number below n, several concurrently. After an error of the store it calls f again, up to
// takeTries times: else one failed call among many would repeat all of them. It returns the errors that stay when a
// call is repeated, or else the first.
func (rs *recordStore) each(ctx context.Context, n int, f func(int) error) error {
	errs := make([]error, n)
	var down atomic.Bool
	rs.together(n, func(i int) {
		for try := 1; !down.Load(); try++ {
			errs[i] = f(i)
			if err := errs[i]; err == nil || isFinal(err) || errors.Is(err, ErrChanged) {
				return
			}
			if try == takeTries || !rs.pause(ctx, record.RetryAfter(try, rs.cfg.Window)) {
				down.Store(true)
			}
		}
	})
	return decisive(errs)
}

// together calls f with each number below n, several concurrently.
func (rs *recordStore) together(n int, f func(int)) {
	var all sync.WaitGroup
	for first := range min(loadsAtOnce, n) {
		all.Go(func() {
			for i := first; i < n; i += loadsAtOnce {
				f(i)
			}
		})
	}
	all.Wait()
}

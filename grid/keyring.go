package grid

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// keyring has this member's gossip keys: either the keys in the security directory, which it
// watches, or Security.GossipKey. Operators change them by calls, which any member forwards to all
// (keyringcalls.go).
type keyring struct {
	*deps

	source  keySource // nil: clear text but for the configuration's key
	exposed bool      // the API is in clear text, and others than this machine reach it

	mu    sync.Mutex // one change at a time
	known [][]byte   // the keys in the files, as of the last change of either

	reserved keysReservation // guarded by mu
}

// keySource are credentials with gossip keys.
type keySource interface {
	GossipKeys() [][]byte
	Changed() <-chan struct{}
	Reload() (changed bool, err error)
	Files() (certificate, authority, gossipKeys, tokens string)
}

// follow applies each change of the files to the running gossip, until ctx ends.
func (k *keyring) follow(ctx context.Context) {
	if k.source == nil {
		return
	}
	for {
		changed := k.source.Changed()
		k.mu.Lock()
		k.catchUp()
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// catchUp applies the keys in the files if those have changed. A change by a call that could not be
// written there stays. The caller holds mu.
func (k *keyring) catchUp() {
	next := k.source.GossipKeys()
	if sameKeys(next, k.known) {
		return
	}
	k.known = next
	if len(k.gossip.Keys()) == 0 {
		k.log.Warn("gossip keys not applied: unencrypted gossip cannot get a key while it runs", "remedy",
			"restart the member")
		return
	}
	if len(next) > 0 {
		k.apply(next, "the file")
	}
}

// apply sets the gossip's keys, and logs the change. The caller holds mu.
func (k *keyring) apply(next [][]byte, by string) {
	before := fingerprints(k.gossip.Keys())
	if err := k.gossip.SetKeys(next); err != nil { // every key was checked when it was read
		k.log.Error("gossip keys not applied", "error", err)
		return
	}
	after := fingerprints(next)
	k.log.Info("gossip keys changed", "by", by, "encrypts", after[0], "installed", without(after, before), "removed",
		without(before, after))
}

// change carries an operation out here.
func (k *keyring) change(in wire.SetKeysRequest) (out wire.SetKeysResponse, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	has := k.gossip.Keys()
	if len(has) == 0 {
		return out, failure.Errorf(wire.ErrNotNow,
			"grid: this member's gossip has no key, and cannot get one while it runs; give every member the same keys and "+
				"restart them")
	}
	if err := k.reserved.admit(in, time.Now()); err != nil {
		return out, err
	}
	if k.source != nil && in.Operation != wire.KeyringList {
		if _, err := k.source.Reload(); err != nil { // a file that was changed by hand counts
			return out, failure.Errorf(wire.ErrNotNow, "%w", err)
		}
		k.catchUp()
		has = k.gossip.Keys()
	}
	next, err := changedRing(has, in.KeyringRequest)
	if err != nil {
		return out, err
	}
	if !sameKeys(next, has) {
		k.apply(next, in.AskedBy)
	}
	if in.Operation != wire.KeyringList {
		k.save(next)
	}
	return wire.SetKeysResponse{Keys: fingerprints(next), Unsaved: k.unsaved(next)}, nil
}

// changedRing returns the keys after an operation.
func changedRing(has [][]byte, in wire.KeyringRequest) ([][]byte, error) {
	print := in.Fingerprint
	var key []byte
	if in.Operation == wire.KeyringInstall {
		var err error
		if key, err = security.ParseGossipKey(in.Key); err != nil {
			return nil, failure.Errorf(wire.ErrBadRequest, "%w", err)
		}
		print = security.Fingerprint(key)
	}
	at := slices.Index(fingerprints(has), print)
	switch in.Operation {
	case wire.KeyringList:
		return has, nil
	case wire.KeyringInstall:
		if slices.ContainsFunc(has, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return has, nil
		}
		switch {
		case at >= 0:
			return nil, failure.Errorf(wire.ErrNotNow, "grid: another key has the fingerprint %s; generate a new key", print)
		case len(has) >= security.MaxGossipKeys:
			return nil, failure.Errorf(wire.ErrNotNow, "grid: the gossip has %d keys; at most %d are allowed: remove some",
				len(has), security.MaxGossipKeys)
		}
		return append(slices.Clone(has), key), nil
	case wire.KeyringUse:
		if at < 0 {
			return nil, failure.Errorf(wire.ErrNotNow, "grid: this member has no key %s; install it first", print)
		}
		return slices.Concat(has[at:at+1], has[:at], has[at+1:]), nil
	case wire.KeyringRemove:
		switch {
		case at < 0:
			return has, nil
		case at == 0:
			return nil, failure.Errorf(wire.ErrNotNow,
				"grid: this member encrypts with the key %s; use another one first", print)
		}
		return slices.Concat(has[:at], has[at+1:]), nil
	}
	return nil, failure.Errorf(wire.ErrBadRequest, "grid: operation %.20q; give list, install, use or remove",
		in.Operation)
}

// save writes the keys to the file, if there is one with other keys. The caller holds mu.
func (k *keyring) save(keys [][]byte) {
	file := k.file()
	if file == "" || sameKeys(k.known, keys) {
		return
	}
	if err := security.WriteGossipKeys(file, keys); err != nil {
		k.log.Warn("gossip keys changed only in memory", "file", file, "error", err, "remedy",
			"change the file, too, or a restart restores the earlier keys")
		return
	}
	if _, err := k.source.Reload(); err != nil {
		k.log.Warn("security directory not read again", "error", err)
	}
	k.known = k.source.GossipKeys()
}

// unsaved returns the reason why a restart would load other keys, or "". The caller holds mu.
func (k *keyring) unsaved(keys [][]byte) string {
	switch file := k.file(); {
	case file == "" && !sameKeys(keys, [][]byte{k.cfg.gossipKey()}):
		return "the change is only in memory: this member's key is in its configuration (Security.GossipKey, " +
			"--gossip-key); change it there, too"
	case file != "" && !sameKeys(keys, k.known):
		return fmt.Sprintf("the change is only in memory: %s could not be written; change it there, too", file)
	}
	return ""
}

// file returns the keys' file, "" if there is none.
func (k *keyring) file() string {
	if k.source == nil {
		return ""
	}
	_, _, file, _ := k.source.Files()
	return file
}

// sameKeys reports whether two lists have the same keys in the same order.
func sameKeys(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

func fingerprints(keys [][]byte) []string {
	out := []string{}
	for _, key := range keys {
		out = append(out, security.Fingerprint(key))
	}
	return out
}

func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

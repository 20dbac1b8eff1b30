package grid

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/grid/internal/audit"
	"github.com/snowgrid/snowgrid/grid/internal/refusal"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/spelling"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
	"github.com/snowgrid/snowgrid/sequencer"
)

// An operator changes all members' gossip keys by a call to any member. A key is used only when
// every member has it, and removed only when none encrypts with it, so every member can always
// decrypt the messages of every other one.

func newKeyring(d *deps) *keyring {
	if d.creds.Credentials == nil {
		setting, _ := d.cfg.beyondLoopback()
		return &keyring{deps: d, exposed: setting != ""}
	}
	return &keyring{deps: d, source: d.creds, known: d.creds.GossipKeys()}
}

// Bounds for forwarding a request.
const (
	setKeysTimeout  = 4 * time.Second // two rounds fit in api.ServeTimeout
	setKeysParallel = 32
)

func (k *keyring) calls() []*api.Call {
	return []*api.Call{
		api.Typed(wire.PathKeyring, k.serve),
		api.Typed(wire.PathSetKeys, func(_ context.Context, in wire.SetKeysRequest) (wire.SetKeysResponse, error) {
			return k.change(in)
		}).ForMembers().OfAnyClaim(),
	}
}

// serve carries an operation out at every member.
func (k *keyring) serve(ctx context.Context, in wire.KeyringRequest) (wire.KeyringResponse, error) {
	asked := wire.SetKeysRequest{KeyringRequest: in, AskedBy: api.WhoOf(ctx)}
	out := wire.KeyringResponse{Fingerprint: in.Fingerprint}
	err := k.check(&asked, &out)
	members := k.state.Roster().Members
	if err == nil && len(members) == 0 {
		err = failure.Errorf(sequencer.ErrUnavailable, "%w", k.formation.NotFormed())
	}
	if err == nil && (in.Operation == wire.KeyringUse || in.Operation == wire.KeyringRemove) {
		asked.Change = rand.Text()
		list := wire.SetKeysRequest{KeyringRequest: wire.KeyringRequest{Operation: wire.KeyringList}, AskedBy: asked.AskedBy,
			Change: asked.Change}
		if err = permits(in.Operation, in.Fingerprint, k.everywhere(ctx, members, list)); err != nil {
			list.Release = true
			k.everywhere(ctx, members, list)
		}
	}
	if err == nil {
		out.Members = k.everywhere(ctx, members, asked)
		out.Advice = keyringAdvice(in.Operation, out)
	}
	if in.Operation != wire.KeyringList {
		k.audit.Write(audit.Entry{Action: audit.Keyring, Name: out.Fingerprint, Who: asked.AskedBy,
			Err: errors.Join(err, failures(out.Members))},
			slog.String("operation", fmt.Sprintf("%.20s", in.Operation)))
	}
	return out, err
}

// check refuses a request that cannot be carried out, and notes its fingerprint.
func (k *keyring) check(in *wire.SetKeysRequest, out *wire.KeyringResponse) error {
	if k.lone {
		return failure.Errorf(wire.ErrNotNow, "grid: this member runs alone, without gossip")
	}
	switch in.Operation {
	case wire.KeyringList:
	case wire.KeyringInstall:
		key, err := security.ParseGossipKey(in.Key)
		if err != nil {
			return failure.Errorf(wire.ErrBadRequest, "%w", err)
		}
		out.Fingerprint = security.Fingerprint(key)
		if k.exposed {
			return failure.Errorf(wire.ErrNotNow,
				"grid: calls between members are unencrypted and would reveal the key; run the members with a security directory")
		}
	case wire.KeyringUse, wire.KeyringRemove:
		if !spelling.IsHex(in.Fingerprint, 8) {
			return failure.Errorf(wire.ErrBadRequest,
				"grid: fingerprint %.20q; give 8 hex digits, as listed by `snowgrid keyring list`", in.Fingerprint)
		}
	default:
		return failure.Errorf(wire.ErrBadRequest, "grid: operation %.20q; give list, install, use or remove", in.Operation)
	}
	return nil
}

// permits returns why a key must not be used or removed, given every member's keys.
func permits(operation, print string, members []wire.KeyringMember) error {
	var reserved, silent, lack, encrypt []string
	for _, m := range members {
		switch at := slices.Index(m.Keys, print); {
		case strings.Contains(m.Error, keysReserved):
			reserved = append(reserved, titleOf(m))
		case m.Error != "":
			silent = append(silent, fmt.Sprintf("%s (%s)", titleOf(m), m.Error))
		case at < 0:
			lack = append(lack, titleOf(m))
		case at == 0:
			encrypt = append(encrypt, titleOf(m))
		}
	}
	switch {
	case len(reserved) > 0:
		return failure.Errorf(wire.ErrNotNow, "grid: %s at %s; repeat the command when it has ended", keysReserved,
			strings.Join(reserved, ", "))
	case len(silent) > 0:
		return failure.Errorf(wire.ErrNotNow,
			"grid: %s did not report keys; try again when every member answers, or remove that member (snowgrid members remove)",
			strings.Join(silent, ", "))
	case operation == wire.KeyringUse && len(lack) > 0:
		return failure.Errorf(wire.ErrNotNow,
			"grid: the key %s is not used, because %s could not decrypt gossip with it; install it first", print,
			strings.Join(lack, ", "))
	case operation == wire.KeyringRemove && len(encrypt) > 0:
		return failure.Errorf(wire.ErrNotNow,
			"grid: the key %s is not removed, because %s encrypts with it; use another key first", print,
			strings.Join(encrypt, ", "))
	case operation == wire.KeyringRemove && len(lack) == len(members):
		return failure.Errorf(wire.ErrNotNeeded, "grid: no member has a key %s; see snowgrid keyring list", print)
	}
	return nil
}

// everywhere carries an operation out at every member, and returns the outcomes in the roster's
// order.
func (k *keyring) everywhere(ctx context.Context, members []roster.Member,
	in wire.SetKeysRequest) []wire.KeyringMember {
	out := make([]wire.KeyringMember, len(members))
	places := make(chan struct{}, setKeysParallel)
	var wg sync.WaitGroup
	for i, m := range members {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			out[i] = k.at(ctx, m, in)
		})
	}
	wg.Wait()
	return out
}

// at carries an operation out at one member.
func (k *keyring) at(ctx context.Context, m roster.Member, in wire.SetKeysRequest) wire.KeyringMember {
	var done wire.SetKeysResponse
	var err error
	if m.Incarnation == k.self {
		done, err = k.change(in)
	} else {
		err = k.caller.CallWithin(ctx, setKeysTimeout, m.API, m.Incarnation, wire.PathSetKeys, in, &done)
	}
	out := wire.KeyringMember{Incarnation: m.Incarnation, Name: k.gossip.Name(m.Incarnation), API: m.API, Keys: done.Keys,
		Unsaved: done.Unsaved}
	if err != nil {
		out.Error = refusal.Unprefixed(err)
	}
	return out
}

// titleOf returns a member's name for a sentence.
func titleOf(m wire.KeyringMember) string {
	if m.Name == "" {
		return string(m.Incarnation)
	}
	return fmt.Sprintf("%s (%s)", m.Name, m.Incarnation)
}

func failures(members []wire.KeyringMember) error {
	var errs []error
	for _, m := range members {
		if m.Error != "" {
			errs = append(errs, failure.Errorf(sequencer.ErrUnavailable, "%s: %s", titleOf(m), m.Error))
		}
	}
	return errors.Join(errs...)
}

// keyringAdvice is the advice to an operator about differences between members after an operation.
func keyringAdvice(operation string, of wire.KeyringResponse) (out []string) {
	var all, first, silent, unsaved []string
	for _, m := range of.Members {
		switch {
		case m.Error != "":
			silent = append(silent, titleOf(m))
			continue
		case m.Unsaved != "":
			unsaved = append(unsaved, titleOf(m))
		}
		all = append(all, without(m.Keys, all)...)
		first = append(first, without(m.Keys[:min(1, len(m.Keys))], first)...)
	}
	for _, print := range all {
		var lack []string
		for _, m := range of.Members {
			if m.Error == "" && !slices.Contains(m.Keys, print) {
				lack = append(lack, titleOf(m))
			}
		}
		switch {
		case len(lack) > 0 && slices.Contains(first, print):
			out = append(out, fmt.Sprintf("%s cannot decrypt messages encrypted with %s: install that key again",
				strings.Join(lack, ", "), print))
		case len(lack) > 0:
			out = append(out, fmt.Sprintf("%s lacks the key %s: install it again, or remove it",
				strings.Join(lack, ", "), print))
		}
	}
	if len(first) > 1 {
		out = append(out, fmt.Sprintf("members encrypt with different keys (%s): select one with `snowgrid keyring use`",
			strings.Join(first, ", ")))
	}
	switch {
	case len(silent) == 0:
	case operation == wire.KeyringList:
		out = append(out, "the keys of "+strings.Join(silent, ", ")+" are not known: each has its error")
	default:
		out = append(out, strings.Join(silent, ", ")+
			" did not apply it: repeat the command when the member answers; a restarted member takes its keys from its own "+
			"files")
	}
	if len(unsaved) > 0 {
		out = append(out, "the keys of "+strings.Join(unsaved, ", ")+
			" are only in memory: change the file or the configuration there, too, or a restart restores the earlier keys")
	}
	return out
}

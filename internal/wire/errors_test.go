package wire_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/identity/numbers"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

var kinds = []string{wire.MsgPack, wire.JSON}

// sentinels are the errors that cross the wire.
var sentinels = []error{
	roster.ErrWrongOwner, wire.ErrNotAddressed, wire.ErrIdentityInUse, wire.ErrOtherClaim,
	wire.ErrBadRequest, wire.ErrNotNow, wire.ErrNotNeeded, wire.ErrNotConfirmed, wire.ErrSettingsConflict,
	wire.ErrForeignGrid, wire.ErrUnknownPath, wire.ErrWrongMethod, wire.ErrCrossOrigin, wire.ErrContentType,
	numbers.ErrFenced, numbers.ErrNotRegistered, numbers.ErrUnknownSet, numbers.ErrAlive, wire.ErrProtocol,
	sequencer.ErrDetached, sequencer.ErrAttached, sequencer.ErrDestroyed, sequencer.ErrConflict,
	sequencer.ErrNotFound, sequencer.ErrQuota, failure.ErrInUse, sequencer.ErrNoFreeNode, sequencer.ErrGrantExpired,
	sequencer.ErrEpochExhausted,
	sequencer.ErrInvalidConfig, sequencer.ErrUnavailable, sequencer.ErrClosed,
}

// travel encodes an error, decodes it and makes an error of it again.
func travel(t *testing.T, kind string, e *wire.Error) error {
	t.Helper()
	data, err := wire.Encode(kind, e)
	if err != nil {
		t.Fatal(err)
	}
	var got wire.Error
	if err := wire.Decode(kind, data, &got); err != nil {
		t.Fatal(err)
	}
	if got != *e {
		t.Fatalf("%s: %+v arrived as %+v", kind, *e, got)
	}
	return got.Unwire()
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for _, kind := range kinds {
		for i, sentinel := range sentinels {
			sent := fmt.Errorf("sequencer %q: %w: and why", "a\"b", sentinel)
			e := wire.ErrorOf(sent, 7)
			got := travel(t, kind, e)
			if got.Error() != sent.Error() || e.Version != 7 {
				t.Errorf("%s: %q arrived as %q, version %d", kind, sent, got, e.Version)
			}
			for j, other := range sentinels {
				if errors.Is(got, other) != (j == i) {
					t.Errorf("%s: %q matches %q: %v", kind, sent, other, errors.Is(got, other))
				}
			}
			if e.Status() < 400 {
				t.Errorf("%v has HTTP status %d", sentinel, e.Status())
			}
		}
	}
}

// TestErrorPrecedence: an error that matches two sentinels travels as the one
// that tells the caller what to do.
func TestErrorPrecedence(t *testing.T) {
	tests := []struct{ first, second error }{
		{roster.ErrWrongOwner, sequencer.ErrUnavailable},
		{wire.ErrNotAddressed, sequencer.ErrUnavailable},
		{sequencer.ErrEpochExhausted, sequencer.ErrInvalidConfig},
		{sequencer.ErrInvalidConfig, wire.ErrBadRequest},
		{wire.ErrNotNow, sequencer.ErrUnavailable},
		{sequencer.ErrDestroyed, sequencer.ErrDetached},
		{sequencer.ErrNoFreeNode, sequencer.ErrUnavailable},
		{sequencer.ErrGrantExpired, sequencer.ErrUnavailable},
		{sequencer.ErrClosed, sequencer.ErrUnavailable},
	}
	for _, test := range tests {
		for _, err := range []error{
			fmt.Errorf("%w: %w", test.first, test.second),
			fmt.Errorf("%w: %w", test.second, test.first),
		} {
			if got := wire.ErrorOf(err, 0).Unwire(); !errors.Is(got, test.first) {
				t.Errorf("%v travels as %v", err, wire.ErrorOf(err, 0).Code)
			}
		}
	}
}

// TestBadClaimTravelsAsBadRequest: the two kinds have one code.
func TestBadClaimTravelsAsBadRequest(t *testing.T) {
	got := travel(t, wire.MsgPack, wire.ErrorOf(fmt.Errorf("renew: %w", failure.ErrBadClaim), 0))
	if !errors.Is(got, wire.ErrBadRequest) || errors.Is(got, sequencer.ErrInvalidConfig) {
		t.Errorf("arrived as %v", got)
	}
}

// TestRefusalsOfNumbers: a refused application carries the next number, and refusals carry
// the codes of RocketMQ's controller.
func TestRefusalsOfNumbers(t *testing.T) {
	for _, test := range []struct {
		sent   error
		code   string
		legacy int
		status int
		is     error
	}{
		{&numbers.RefusedID{Next: 3, Reason: "no"}, "id_refused", 2014, http.StatusConflict, numbers.ErrIDRefused},
		{numbers.ErrNotRegistered, "not_registered", 2010, http.StatusNotFound, numbers.ErrNotRegistered},
		{numbers.ErrAlive, "alive", 2009, http.StatusConflict, numbers.ErrAlive},
		{numbers.ErrUnknownSet, "unknown_set", 2008, http.StatusNotFound, numbers.ErrUnknownSet},
		{wire.ErrCleanUnknownSet, "unknown_set", 2009, http.StatusNotFound, numbers.ErrUnknownSet},
		{numbers.ErrFenced, "fenced", 0, http.StatusConflict, numbers.ErrFenced},
		{wire.ErrProtocol, "protocol", 0, http.StatusUpgradeRequired, wire.ErrProtocol},
	} {
		e := wire.ErrorOf(fmt.Errorf("x: %w", test.sent), 0)
		if e.Code != test.code || e.CodeLegacy != test.legacy || e.Status() != test.status {
			t.Errorf("%v travels as %+v, status %d", test.sent, e, e.Status())
		}
		if got := travel(t, wire.JSON, e); !errors.Is(got, test.is) || got.Error() != "x: "+test.sent.Error() {
			t.Errorf("%v arrived as %v", test.sent, got)
		}
	}
	got := travel(t, wire.MsgPack, wire.ErrorOf(&numbers.RefusedID{Next: 3, Reason: "no"}, 0))
	if refused, ok := errors.AsType[*numbers.RefusedID](got); !ok || refused.Next != 3 {
		t.Errorf("the next number arrived in %#v", got)
	}
}

func TestErrorsWithoutCode(t *testing.T) {
	for _, err := range []error{errors.New("disk on fire"), context.DeadlineExceeded, context.Canceled} {
		e := wire.ErrorOf(err, 0)
		if got := travel(t, wire.MsgPack, e); !errors.Is(got, sequencer.ErrUnavailable) || errors.Is(got, err) {
			t.Errorf("%v arrived as %v", err, got)
		}
		if e.Status() != http.StatusServiceUnavailable {
			t.Errorf("%v has HTTP status %d", err, e.Status())
		}
	}
	unknown := &wire.Error{Code: "from_a_later_release", Message: "a later kind"}
	got := travel(t, wire.JSON, unknown)
	if !errors.Is(got, sequencer.ErrUnavailable) || got.Error() != unknown.Message {
		t.Errorf("an unknown code arrived as %v", got)
	}
	if unknown.Status() != http.StatusServiceUnavailable {
		t.Errorf("an unknown code has HTTP status %d", unknown.Status())
	}
	if err := (*wire.Error)(nil).Unwire(); err != nil {
		t.Errorf("no error became %v", err)
	}
}

// TestRetryAfterTravels: when a call may succeed arrives with the refusal.
func TestRetryAfterTravels(t *testing.T) {
	later := &wire.LaterError{Message: "grid: too many calls", After: 1500*time.Millisecond + 1, Of: sequencer.ErrQuota}
	e := wire.ErrorOf(fmt.Errorf("wrapped: %w", later), 7)
	if e.Code != "quota" || e.Status() != 429 || e.RetryAfter != 1501 {
		t.Fatalf("%+v, status %d", e, e.Status())
	}
	var read *wire.LaterError
	if err := e.Unwire(); !errors.Is(err, sequencer.ErrQuota) || !errors.As(err, &read) ||
		read.RetryAfter() != 1501*time.Millisecond || err.Error() != "wrapped: grid: too many calls" {
		t.Errorf("arrived as %v", err)
	}
	e.RetryAfter = 0
	if err := e.Unwire(); !errors.Is(err, sequencer.ErrQuota) || errors.As(err, &read) {
		t.Errorf("without a time: %v", err)
	}
}

// TestOverloadedTravels: a refusal for overload says when to call again, and processes that do not
// know its code read it as unavailable.
func TestOverloadedTravels(t *testing.T) {
	e := wire.ErrorOf(&wire.LaterError{Message: "grid: too much to do", After: time.Second, Of: wire.ErrOverloaded}, 7)
	if e.Code != "overloaded" || e.Status() != http.StatusServiceUnavailable || e.RetryAfter != 1000 {
		t.Fatalf("%+v, status %d", e, e.Status())
	}
	for _, code := range []string{"overloaded", "a code of a later release"} {
		e.Code = code
		var read *wire.LaterError
		err := e.Unwire()
		if !errors.Is(err, sequencer.ErrUnavailable) || !errors.As(err, &read) || read.RetryAfter() != time.Second {
			t.Errorf("%s arrived as %v", code, err)
		}
		if errors.Is(err, wire.ErrOverloaded) != (code == "overloaded") {
			t.Errorf("%s arrived as overloaded: %v", code, errors.Is(err, wire.ErrOverloaded))
		}
	}
}

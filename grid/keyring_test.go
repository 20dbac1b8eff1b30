package grid

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/security"
)

// ringOf returns keys of one byte each, repeated.
func ringOf(letters string) (keys [][]byte) {
	for _, b := range letters {
		keys = append(keys, []byte(strings.Repeat(string(b), 16)))
	}
	return keys
}

// TestChangedRing: each operation at one member. A member refuses by itself to use a key that
// it lacks and to remove the one that it encrypts with, whatever the asking one believes.
func TestChangedRing(t *testing.T) {
	full := "abcdefghijklmnop"
	for _, c := range []struct {
		has, operation, key, want string
		err                       string // "" = done
	}{
		{"a", wire.KeyringList, "", "a", ""},
		{"a", wire.KeyringInstall, "b", "ab", ""},
		{"ab", wire.KeyringInstall, "b", "ab", ""},
		{"ba", wire.KeyringInstall, "a", "ba", ""},
		{full, wire.KeyringInstall, "p", full, ""},
		{full, wire.KeyringInstall, "q", "", "at most 16"},
		{"abc", wire.KeyringUse, "b", "bac", ""},
		{"abc", wire.KeyringUse, "c", "cab", ""},
		{"abc", wire.KeyringUse, "a", "abc", ""},
		{"abc", wire.KeyringUse, "d", "", "install it first"},
		{"abc", wire.KeyringRemove, "b", "ac", ""},
		{"abc", wire.KeyringRemove, "d", "abc", ""},
		{"abc", wire.KeyringRemove, "a", "", "encrypts with the key"},
		{"a", wire.KeyringRemove, "a", "", "encrypts with the key"},
		{"a", "turn", "a", "", "give list, install, use or remove"},
	} {
		has, key := ringOf(c.has), []byte(strings.Repeat(c.key, 16))
		in := wire.KeyringRequest{Operation: c.operation, Fingerprint: security.Fingerprint(key)}
		if c.operation == wire.KeyringInstall {
			in = wire.KeyringRequest{Operation: c.operation, Key: base64.StdEncoding.EncodeToString(key)}
		}
		got, err := changedRing(has, in)
		if c.err == "" && (err != nil || !sameKeys(got, ringOf(c.want))) ||
			c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s %s of %s: %q, %v", c.operation, c.key, c.has, got, err)
		}
		if !sameKeys(has, ringOf(c.has)) {
			t.Errorf("%s %s of %s changed the ring in place", c.operation, c.key, c.has)
		}
		if err != nil && !errors.Is(err, wire.ErrNotNow) && !errors.Is(err, wire.ErrBadRequest) {
			t.Errorf("%s: %v has no code", c.operation, err)
		}
	}
}

// TestKeyringAdvice: differences between members are named with their remedy, and there is
// none where members agree.
func TestKeyringAdvice(t *testing.T) {
	members := func(rings ...string) (out wire.KeyringResponse) {
		for i, ring := range rings {
			m := wire.KeyringMember{Name: "m" + string(rune('1'+i)), Keys: strings.Fields(ring)}
			if ring == "" {
				m.Error = "no answer"
			}
			out.Members = append(out.Members, m)
		}
		return out
	}
	for _, c := range []struct {
		rings []string
		want  []string
	}{
		{[]string{"a b", "a b"}, nil},
		{[]string{"a b", "a"}, []string{"m2 () lacks the key b: install it again, or remove it"}},
		{[]string{"a", "b a"}, []string{"m1 () cannot decrypt messages encrypted with b: install that key again",
			"members encrypt with different keys (a, b): select one with `snowgrid keyring use`"}},
		{[]string{"a", ""}, []string{"m2 () did not apply it: repeat"}},
	} {
		got := keyringAdvice(wire.KeyringInstall, members(c.rings...))
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%q: advice %q, want %q", c.rings, got, c.want)
		}
	}
	want := []string{"the keys of m2 () are not known: each has its error"}
	if got := keyringAdvice(wire.KeyringList, members("a", "")); !slices.Equal(got, want) {
		t.Errorf("a list: advice %q, want %q", got, want)
	}
}

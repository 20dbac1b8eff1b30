package discovery

import (
	"cmp"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"time"
)

// Unresolved is an entry that does not resolve to an address, or that contains a name that does
// not.
type Unresolved struct {
	Entry string
	Since time.Time // the first failure after the last success
	Error string    // without the DNS server's address
}

// String returns the entry and the error.
func (u Unresolved) String() string { return u.Entry + " (" + u.Error + ")" }

// Unresolved returns the entries that cannot be resolved, sorted. An entry keeps the addresses that
// it had before.
func (f *Finder) Unresolved() []Unresolved {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.SortedFunc(maps.Values(f.failing), func(a, b Unresolved) int { return cmp.Compare(a.Entry, b.Entry) })
}

// note records a source's result, nil for a success.
func (f *Finder) note(s *source, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.failing, s)
		return
	}
	u, known := f.failing[s]
	if !known {
		u = Unresolved{Entry: s.entry.text, Since: now}
	}
	u.Error = reason(u.Entry, err)
	f.failing[s] = u
}

const reasonMax = 200

// reason returns the text of an entry's error, without the DNS server's address.
func reason(entry string, err error) string {
	text := err.Error()
	if dns, is := errors.AsType[*net.DNSError](err); is {
		text = dns.Err
		if !strings.Contains(entry, dns.Name) { // one among several names
			text = dns.Name + ": " + text
		}
	}
	return strings.ToValidUTF8(text[:min(len(text), reasonMax)], "")
}

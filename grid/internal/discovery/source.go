package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Names resolves DNS names, as *net.Resolver does.
type Names interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
	LookupSRV(ctx context.Context, service, proto, name string) (string, []*net.SRV, error)
}

const maxFile = 64 << 10

// source is an entry with its last result. Only one goroutine uses it.
type source struct {
	entry entry
	names Names
	port  int // for entries without one

	content  []byte    // the file as last read
	resolved time.Time // when the file's names were resolved; zero: never, or not without an error
	addrs    []string  // the result
	failed   error     // for names left out of the last result, nil for none

	lookup func(context.Context) ([]string, error)
	answer chan lookedUp // of a call of lookup that has not ended; nil: none
}

type lookedUp struct {
	texts []string
	err   error
}

// resolve returns the source's addresses, IP:port. The error names the entry.
func (s *source) resolve(ctx context.Context, now time.Time) ([]string, error) {
	switch s.entry.kind {
	case nameEntry:
		return s.host(ctx, s.entry.name, s.entry.port)
	case srvEntry:
		return s.srv(ctx)
	case fileEntry:
		return s.file(ctx, now)
	case lookupEntry:
		return s.call(ctx)
	}
	return []string{s.entry.text}, nil
}

func (s *source) host(ctx context.Context, name, port string) ([]string, error) {
	ips, err := s.names.LookupHost(ctx, name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, ip := range ips[:min(len(ips), maxAddrs)] {
		out = append(out, net.JoinHostPort(ip, port))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no addresses", name)
	}
	return out, nil
}

// srv returns the addresses of a name's SRV targets. Targets that cannot be resolved are left out
// if at least one can.
func (s *source) srv(ctx context.Context) ([]string, error) {
	_, records, err := s.names.LookupSRV(ctx, "", "", s.entry.name)
	if err != nil {
		return nil, err
	}
	var out []string
	var failed []error
	for _, r := range records[:min(len(records), maxAddrs)] {
		addrs, err := s.host(ctx, r.Target, strconv.Itoa(int(r.Port)))
		out, failed = append(out, addrs...), append(failed, err)
	}
	if len(out) == 0 {
		return nil, errors.Join(append(failed, errors.New("no target has an address"))...)
	}
	s.failed = errors.Join(failed...)
	return out, nil
}

// file returns the addresses in the file. It is read each time; its DNS names are resolved when it
// has changed, and periodically. A file with a malformed line is rejected as a whole: it may be
// incomplete.
func (s *source) file(ctx context.Context, now time.Time) ([]string, error) {
	content, err := readFile(s.entry.name)
	if err != nil {
		return nil, err
	}
	if !s.resolved.IsZero() && bytes.Equal(content, s.content) && now.Sub(s.resolved) < refreshEvery {
		return s.addrs, nil
	}
	s.content, s.resolved = content, time.Time{}
	lines, err := readLines(s.entry.name, content, s.port)
	if err != nil {
		return nil, err
	}
	out, err := s.hosts(ctx, lines)
	if err != nil {
		return nil, err
	}
	s.addrs, s.resolved = out, now
	return out, nil
}

// hosts returns the addresses of entries that are addresses or DNS names. Names that cannot be resolved are
// left out if there is another address.
func (s *source) hosts(ctx context.Context, entries []entry) (out []string, err error) {
	var failed []error
	for _, e := range entries {
		if e.kind == addressEntry {
			out = append(out, e.text)
			continue
		}
		addrs, err := s.host(ctx, e.name, e.port)
		out, failed = append(out, addrs...), append(failed, err)
	}
	s.failed = errors.Join(failed...)
	if s.failed != nil && len(out) == 0 {
		return nil, s.failed
	}
	return out, nil
}

// call calls the function, and parses its result. A call that does not end with its context is left alone: it
// is not called again meanwhile, and its late result is used.
func (s *source) call(ctx context.Context) ([]string, error) {
	if s.answer == nil {
		answer := make(chan lookedUp, 1)
		s.answer = answer
		go func() {
			texts, err := s.lookup(ctx)
			answer <- lookedUp{texts, err}
		}()
	}
	var found lookedUp
	select {
	case found = <-s.answer:
		s.answer = nil
	case <-ctx.Done():
		return nil, fmt.Errorf("the function has not returned: %w", ctx.Err())
	}
	if found.err != nil {
		return nil, found.err
	}
	if n := len(found.texts); n > maxAddrs {
		return nil, fmt.Errorf("%d addresses were returned; return at most %d", n, maxAddrs)
	}
	var entries []entry
	for _, text := range found.texts {
		e, err := parseHost(text, s.port)
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return s.hosts(ctx, entries)
}

func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("%s has more than %d bytes; list fewer addresses, or a DNS name of all", path, maxFile)
	}
	return content, nil
}

// readLines reads a file's lines. Empty lines and text after a # are ignored.
func readLines(path string, content []byte, port int) ([]entry, error) {
	var out []entry
	n := 0
	for line := range strings.Lines(string(content)) {
		n++
		text, _, _ := strings.Cut(line, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		e, err := parseHost(text, port)
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		if out = append(out, e); len(out) > maxAddrs {
			return nil, fmt.Errorf("%s: line %d: there are more than %d addresses; list fewer, or a DNS name of all", path, n,
				maxAddrs)
		}
	}
	return out, nil
}

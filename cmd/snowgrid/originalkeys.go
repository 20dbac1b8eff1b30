package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snowgrid/snowgrid/grid"
)

// A configuration file may use the key names of the gossip membership service that the paths under
// /membership come from, so that its files need no rewrite:
//
//	iteration.interval.ms        gossip-interval
//	connection.timeout.ms        gossip-timeout
//	cycles.for.wait.keep.alive   gossip-cycles
//	address, protocol.port       gossip-addr, and raft-addr with port 7947 unless that is set
//	address, server.port         api-addr
//	address.N, protocol.port.N   one entry of join
//
// Absent keys have snowgrid's defaults.

// originalSetting is a flag that results from keys of that service.
type originalSetting struct {
	Flag, Value string
	Keys        []string // that it was made of, sorted
	// Implied marks a flag derived from other keys; the flag's own key may override it.
	Implied bool
}

// originalNote is a key of that service which is accepted and has no effect.
type originalNote struct{ Key, Reason string }

// originalMaxSeeds bounds the N of seeds.
const originalMaxSeeds = 1000

// originalNumbers are the keys of numbers that become flags, with their limits.
var originalNumbers = map[string]struct {
	flag     string
	min, max int
	unit     string
}{
	"iteration.interval.ms": {"gossip-interval", int(grid.MinGossipInterval.Milliseconds()),
		int(grid.MaxGossipInterval.Milliseconds()), "ms"},
	"connection.timeout.ms": {"gossip-timeout", int(grid.MinGossipTimeout.Milliseconds()),
		int(grid.MaxGossipInterval.Milliseconds()), "ms"},
	"cycles.for.wait.keep.alive": {"gossip-cycles", 1, grid.MaxGossipCycles, ""},
}

// originalIdle are the keys of positive numbers without effect.
var originalIdle = map[string]string{
	"read.iddle.iteration.factor": "no connection between members is idle for long: each exchange has its own stream, " +
		"and ends within 2s",
	"max.rumor.log.size": "no rumour log is kept: each message is repeated a few times, and members compare their whole " +
		"state regularly",
	"max.object.size": "the limits are fixed: 64 KiB for a datagram, 640 KiB for a stream",
	"client.threads":  "no thread pool exists",
	"server.threads":  "no thread pool exists",
}

// originalOwn lists the keys for the member itself, and for seeds with a number added.
var originalOwn = []string{"id", "address", "protocol.port", "server.port"}

// isOriginalKey reports whether key belongs to that service.
func isOriginalKey(key string) bool {
	_, number := originalNumbers[key]
	_, idle := originalIdle[key]
	name, _, _ := cutSeed(key)
	return number || idle || slices.Contains(originalOwn, name)
}

// cutSeed splits address.7 into address and 7; another key stays whole.
func cutSeed(key string) (name, number string, numbered bool) {
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 || dot+1 == len(key) || strings.Trim(key[dot+1:], "0123456789") != "" {
		return key, "", false
	}
	return key[:dot], key[dot+1:], true
}

// translateOriginal translates keys of that service, all accepted by isOriginalKey, into agent flags.
// Both results are sorted. An error names the key, its value, the limit and the remedy.
func translateOriginal(keys map[string]string) ([]originalSetting, []originalNote, error) {
	t := originalTranslation{keys: keys}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := t.number(key); err != nil {
			return nil, nil, err
		}
	}
	if err := t.own(); err != nil {
		return nil, nil, err
	}
	if err := t.seeds(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(t.settings, func(a, b originalSetting) int { return strings.Compare(a.Flag, b.Flag) })
	slices.SortFunc(t.notes, func(a, b originalNote) int { return strings.Compare(a.Key, b.Key) })
	return t.settings, t.notes, nil
}

type originalTranslation struct {
	keys     map[string]string
	settings []originalSetting
	notes    []originalNote
}

func (t *originalTranslation) set(flag, value string, keys ...string) {
	slices.Sort(keys)
	t.settings = append(t.settings, originalSetting{Flag: flag, Value: value, Keys: keys})
}

func (t *originalTranslation) note(key, reason string) {
	t.notes = append(t.notes, originalNote{key, reason})
}

func (t *originalTranslation) number(key string) error {
	value := t.keys[key]
	if to, found := originalNumbers[key]; found {
		n, err := strconv.Atoi(value)
		if err != nil || n < to.min || n > to.max {
			return fmt.Errorf("%s: %.40q: give a whole number, %d to %d", key, value, to.min, to.max)
		}
		text := strconv.Itoa(n)
		if to.unit == "ms" {
			text = (time.Duration(n) * time.Millisecond).String()
		}
		t.set(to.flag, text, key)
	}
	if reason, found := originalIdle[key]; found {
		if n, err := strconv.Atoi(value); err != nil || n < 1 {
			return fmt.Errorf("%s: %.40q: give a positive whole number, or remove the key; it has no effect here", key, value)
		}
		t.note(key, reason)
	}
	return nil
}

// own translates the member's own id and addresses.
func (t *originalTranslation) own() error {
	if id, found := t.keys["id"]; found {
		reason := "the member generates its own identity, and data-dir keeps it"
		if id != "" {
			reason += "; member-name sets a display name"
		}
		t.note("id", reason)
	}
	for _, to := range []struct {
		flag, portKey string
		port          int
	}{{"gossip-addr", "protocol.port", grid.GossipPort}, {"raft-addr", "", grid.RaftPort},
		{"api-addr", "server.port", grid.APIPort}} {
		addr, from, err := t.addr("", to.portKey, to.port)
		if err != nil {
			return err
		}
		if len(from) > 0 {
			t.set(to.flag, addr, from...)
			t.settings[len(t.settings)-1].Implied = to.portKey == ""
		}
	}
	return nil
}

// seeds translates the seeds into the addresses to join.
func (t *originalTranslation) seeds() error {
	var numbers []int
	var from []string
	for key := range t.keys {
		_, number, numbered := cutSeed(key)
		if !numbered {
			continue
		}
		n, err := strconv.Atoi(number)
		if err != nil || n >= originalMaxSeeds || strconv.Itoa(n) != number {
			return fmt.Errorf("%s: give a seed number, 0 to %d, without leading zeros", key, originalMaxSeeds-1)
		}
		if !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	var join []string
	for _, n := range numbers {
		suffix := "." + strconv.Itoa(n)
		if t.keys["address"+suffix] == "" {
			return fmt.Errorf("address%s: missing or empty; give the address of seed %d, or remove its other keys", suffix, n)
		}
		addr, keys, err := t.addr(suffix, "protocol.port", grid.GossipPort)
		if err != nil {
			return err
		}
		if _, _, err := t.addr(suffix, "server.port", grid.APIPort); err != nil {
			return err
		}
		for _, key := range []string{"id", "server.port"} {
			if _, found := t.keys[key+suffix]; found {
				t.note(key+suffix, "a seed reports it when it is joined")
			}
		}
		join, from = append(join, addr), append(from, keys...)
	}
	if len(join) > 0 {
		t.set("join", strings.Join(join, ","), from...)
	}
	return nil
}

// addr returns the address that the keys with a suffix give, with a default port, and the
// keys that it has used.
func (t *originalTranslation) addr(suffix, portKey string, port int) (addr string, from []string, err error) {
	host := "127.0.0.1"
	key := "address" + suffix
	if given, found := t.keys[key]; found {
		if given == "" || strings.ContainsAny(given, ", []") || strings.Contains(given, ":") && net.ParseIP(given) == nil {
			return "", nil, fmt.Errorf("%s: %.100q: give an IP or a host name, without a port; that is in protocol.port%s", key,
				given, suffix)
		}
		host, from = given, append(from, key)
	}
	key = portKey + suffix
	if text, found := t.keys[key]; found && portKey != "" {
		port, err = strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return "", nil, fmt.Errorf("%s: %.40q: give a port, 1 to 65535", key, text)
		}
		from = append(from, key)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), from, nil
}

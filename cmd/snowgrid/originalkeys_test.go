package main

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestOriginalKeys: a file with the key names of the original gives the agent's flags, and
// the agent parses them.
func TestOriginalKeys(t *testing.T) {
	keys := map[string]string{
		"iteration.interval.ms": "3000", "connection.timeout.ms": "1000", "cycles.for.wait.keep.alive": "3",
		"read.iddle.iteration.factor": "3", "max.rumor.log.size": "1000000", "max.object.size": "1048576",
		"client.threads": "3", "server.threads": "3",
		"id": "", "address": "127.0.0.2", "protocol.port": "7001", "server.port": "6001",
		"id.1": "a", "address.1": "10.0.0.1", "protocol.port.1": "7001", "server.port.1": "6001",
		"address.2": "fd00::2", "protocol.port.2": "7002",
		"address.10": "seed.internal",
	}
	for key := range keys {
		if !isOriginalKey(key) {
			t.Errorf("%s is unknown", key)
		}
	}
	settings, notes, err := translateOriginal(keys)
	if err != nil {
		t.Fatal(err)
	}
	want := []originalSetting{
		{"api-addr", "127.0.0.2:6001", []string{"address", "server.port"}, false},
		{"gossip-addr", "127.0.0.2:7001", []string{"address", "protocol.port"}, false},
		{"gossip-cycles", "3", []string{"cycles.for.wait.keep.alive"}, false},
		{"gossip-interval", "3s", []string{"iteration.interval.ms"}, false},
		{"gossip-timeout", "1s", []string{"connection.timeout.ms"}, false},
		{
			"join", "10.0.0.1:7001,[fd00::2]:7002,seed.internal:7946",
			[]string{"address.1", "address.10", "address.2", "protocol.port.1", "protocol.port.2"}, false,
		},
		{"raft-addr", "127.0.0.2:7947", []string{"address"}, true},
	}
	if !reflect.DeepEqual(settings, want) {
		t.Errorf("settings\n%v, want\n%v", settings, want)
	}
	var noted []string
	for _, n := range notes {
		noted = append(noted, n.Key)
		if len(n.Reason) < 20 {
			t.Errorf("%s has the reason %q", n.Key, n.Reason)
		}
	}
	if got := strings.Join(noted,
		" "); got != "client.threads id id.1 max.object.size max.rumor.log.size read.iddle.iteration.factor server.port.1 "+
		"server.threads" {
		t.Errorf("noted %s", got)
	}
	args := []string{"agent"}
	for _, s := range settings {
		args = append(args, "--"+s.Flag+"="+s.Value)
	}
	parsed, err := parse(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	if f := parsed.Agent.gossipFlags; f != (gossipFlags{3 * time.Second, time.Second, 3}) || len(parsed.Agent.Join) != 3 {
		t.Errorf("the agent has %+v and joins %v", f, parsed.Agent.Join)
	}
	if cfg, err := parsed.Agent.config(nil); err != nil || cfg.Gossip.Interval != 3*time.Second ||
		cfg.Gossip.Timeout != time.Second || cfg.Gossip.Cycles != 3 {
		t.Errorf("the member has %+v, %v", cfg.Gossip, err)
	}
}

// TestOriginalKeysRefused: errors name the key, the value and the limit.
func TestOriginalKeysRefused(t *testing.T) {
	for _, test := range []struct {
		key, value string
		want       []string
	}{
		{"iteration.interval.ms", "99", []string{"iteration.interval.ms", `"99"`, "100 to 60000"}},
		{"iteration.interval.ms", "60001", []string{"100 to 60000"}},
		{"iteration.interval.ms", "3s", []string{`"3s"`, "whole number"}},
		{"connection.timeout.ms", "0", []string{"10 to 60000"}},
		{"cycles.for.wait.keep.alive", "0", []string{"1 to 100"}},
		{"client.threads", "-1", []string{"client.threads", "positive", "remove the key"}},
		{"protocol.port", "65536", []string{"protocol.port", "65535"}},
		{"server.port", "", []string{"server.port", "65535"}},
		{"address", "10.0.0.1:7001", []string{"address", "10.0.0.1:7001", "protocol.port"}},
		{"address.3", "a,b", []string{"address.3", "protocol.port.3"}},
		{"protocol.port.3", "7001", []string{"address.3", "missing"}},
		{"address.007", "a", []string{"address.007", "leading zeros"}},
		{"address.1000", "a", []string{"0 to 999"}},
	} {
		_, _, err := translateOriginal(map[string]string{test.key: test.value})
		for _, word := range test.want {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %s: %v, want %q in it", test.key, test.value, err, word)
			}
		}
	}
	for _, key := range []string{"", "iteration", "address.", "address.x", "join", "gossip-interval", "name", "id.1.2"} {
		if isOriginalKey(key) {
			t.Errorf("%q is one of the original's keys", key)
		}
	}
}

package main

import (
	"net"
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/grid"
)

// loopbackName is the name of the loopback interface.
func loopbackName(t *testing.T) string {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback != 0 {
			return i.Name
		}
	}
	t.Skip("this machine has no loopback interface")
	return ""
}

// TestAddressTemplates: templates are executed in the addresses where the agent listens and
// in the host that others reach it at, and other values stay as they are.
func TestAddressTemplates(t *testing.T) {
	lo := `{{ GetAllInterfaces | include "name" "^` + loopbackName(t) +
		`$" | include "type" "IPv4" | limit 1 | attr "address" }}`
	parsed, err := parse(t, "agent", "--gossip-addr", lo+":1001", "--raft-addr", lo+":1002", "--api-addr", "10.0.0.1:1003",
		"--advertise-host", lo)
	if err != nil {
		t.Fatal(err)
	}
	var cfg grid.Config
	if err := parsed.Agent.addressFlags.apply(&cfg); err != nil {
		t.Fatal(err)
	}
	got := strings.Join([]string{cfg.GossipAddr, cfg.RaftAddr, cfg.APIAddr, cfg.AdvertiseHost}, " ")
	if want := "127.0.0.1:1001 127.0.0.1:1002 10.0.0.1:1003 127.0.0.1"; got != want {
		t.Errorf("the addresses are %s, want %s", got, want)
	}
}

// TestAddressTemplatesRefused: errors name the flag, the template and the remedy.
func TestAddressTemplatesRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flag, value, word string }{
		{"gossip-addr", "{{ GetPrivateIPs", "not a template"},
		{"raft-addr", "{{ GetNoSuchThing }}:7947", "GetNoSuchThing"},
		{"api-addr", `{{ GetInterfaceIP "nosuch0" }}:7948`, "no address of this machine"},
		{"api-addr", `{{ "10.0.0.1" }}`, "write {{ ... }}:PORT"},
		{"gossip-addr", `{{ "::1" }}:7946`, "write [{{ ... }}]:PORT"},
		{"gossip-addr", `{{ "10.0.0.1 10.0.0.2" }}:7946`, "limit 1"},
		{"advertise-host", `{{ GetInterfaceIP "nosuch0" }}`, "no address of this machine"},
		{"advertise-host", `{{ "10.0.0.1,10.0.0.2" }}`, "several addresses"},
	} {
		parsed, err := parse(t, "agent", "--"+test.flag+"="+test.value)
		if err != nil {
			t.Fatal(err)
		}
		err = parsed.Agent.addressFlags.apply(&grid.Config{})
		for _, word := range []string{"--" + test.flag + "=" + test.value, test.word} {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %s: %v, want %q in it", test.flag, test.value, err, word)
			}
		}
	}
}

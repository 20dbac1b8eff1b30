package grid

import (
	"strings"
	"testing"

	"github.com/snowgrid/snowgrid/internal/leader"
	"github.com/snowgrid/snowgrid/internal/roster"
)

// TestLostQuorumNamesCopies: a member without a quorum, although a majority is alive, names two
// processes of one durable member: neither a network nor a disk is the cause then.
func TestLostQuorumNamesCopies(t *testing.T) {
	peer := func(inc, api string, durable bool) leader.Peer {
		return leader.Peer{Incarnation: roster.Incarnation(inc), API: api, Durable: durable}
	}
	original, copied := peer("aa-01", "a:1", true), peer("aa-02", "b:1", true)
	for what, c := range map[string]struct {
		peers []leader.Peer
		want  []string
	}{
		"none":           {nil, nil},
		"different":      {[]leader.Peer{original, peer("bb-01", "b:1", true)}, nil},
		"itself again":   {[]leader.Peer{original, original}, nil},
		"memory only":    {[]leader.Peer{peer("aa-01", "a:1", false), peer("aa-02", "b:1", false)}, nil},
		"a copy":         {[]leader.Peer{original, copied}, []string{"member aa", "a:1", "b:1", "stop one of the two"}},
		"a copy, others": {[]leader.Peer{peer("bb-01", "c:1", true), original, copied}, []string{"a:1", "b:1"}},
	} {
		got := (&health{deps: &deps{cfg: Config{DataDir: "data"}}}).remedy(leader.Quorum{}, c.peers)
		if strings.Contains(got, "check that the members reach each other") == (c.want != nil) {
			t.Errorf("%s: %q", what, got)
		}
		for _, part := range c.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: the text lacks %q: %s", what, part, got)
			}
		}
	}
}

package leader

import "testing"

// TestQuorum: voters that are seen are alive, and so is the member itself; of the others
// those with a disk come back.
func TestQuorum(t *testing.T) {
	for what, c := range map[string]struct {
		durable              bool
		unseen               []int
		majority, restorable bool
	}{
		"all alive":                   {true, nil, true, true},
		"the member itself is unseen": {true, []int{1}, true, true},
		"one lost":                    {false, []int{3}, true, true},
		"two lost, with disks":        {true, []int{2, 3}, false, true},
		"two lost, without":           {false, []int{2, 3}, false, false},
		"a learner does not count":    {false, []int{2, 3, 4}, false, false},
	} {
		o := lead(t, 4, c.durable)
		o.unseen(c.unseen...)
		q := QuorumOf(o.v, o.l.server)
		if q.Voters() != 3 || q.Majority() != c.majority || q.Restorable() != c.restorable {
			t.Errorf("%s: %+v, majority %v, restorable %v", what, q, q.Majority(), q.Restorable())
		}
	}
	if q := QuorumOf(View{}, "a"); q.Voters() != 0 || q.Majority() {
		t.Errorf("no voters known: %+v", q)
	}
}

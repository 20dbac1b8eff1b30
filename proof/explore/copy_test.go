package explore

import (
	"reflect"
	"testing"
)

// TestCopies: a copy of a process has the same encoding and stays as it is whatever
// the other does.
func TestCopies(t *testing.T) {
	l := newLab(Scope{InSync: "B", Nodes: 2, Holders: 2, Attached: 1, Operations: 3}, None)
	w, err := l.start()
	if err != nil {
		t.Fatal(err)
	}
	p := l.processes.get(w.processes[0])
	encode := func(p *process) string { return string(l.encoder.process(nil, p)) }
	before, c := encode(p), deepCopy(p)
	if encode(c) != before {
		t.Fatal("the copy is another")
	}
	l.effects.begin(c, &outcome{})
	if !l.serve(c, input{kind: inAttach, holder: 1, node: 1, life: w.lives[0].ref, version: 2}, &outcome{}) {
		t.Fatal("the copy does not act")
	}
	if len(c.machine.Table().Tenants()) != 2 || encode(c) == before {
		t.Error("an attach does not show in the copy")
	}
	if encode(p) != before {
		t.Error("the original changed with its copy")
	}
}

// TestWorldsAreRead: encoded worlds are decoded without a change.
func TestWorldsAreRead(t *testing.T) {
	l := newLab(Scope{InSync: "BC", Nodes: 2, Holders: 3, Attached: 2, Operations: 3, Early: true, Rises: 1, Versions: 2,
		Moves: "ta"}, None)
	w, err := l.start()
	if err != nil {
		t.Fatal(err)
	}
	read := readWorld(w.append(nil))
	if string(read.append(nil)) != string(w.append(nil)) || !reflect.DeepEqual(read.holders, w.holders) ||
		len(read.letters) == 0 {
		t.Errorf("%+v is read as %+v", w, read)
	}
}

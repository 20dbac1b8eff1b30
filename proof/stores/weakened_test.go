package stores

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMissingRuleIsNoticed: with holders that take a record at their own time, whatever it
// was granted to before, the same load has IDs twice. So the other tests can fail.
func TestMissingRuleIsNoticed(t *testing.T) {
	if !*long {
		t.Skip("takes half a minute: only with -long, as in make proof-stores")
	}
	const rule, weak = "from := max(b.Now, r.Bound, b.Mark, b.Epoch)", "from := max(b.Now, b.Mark, b.Epoch)"
	source, err := filepath.Abs("../../client/store/record/take.go")
	must(t, err)
	text, err := os.ReadFile(source)
	must(t, err)
	if strings.Count(string(text), rule) != 1 {
		t.Fatalf("%s has another line: %s", source, rule)
	}
	dir := t.TempDir()
	changed, overlay, path := filepath.Join(dir, "take.go"), filepath.Join(dir, "overlay.json"),
		filepath.Join(dir, "holder")
	must(t, os.WriteFile(changed, []byte(strings.Replace(string(text), rule, weak, 1)), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{source: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, list, 0o600))
	must(t, build("-overlay", overlay, "-o", path))

	s := startSite(t, engine{name: "file"})
	holders := s.crowd("20")
	for _, h := range holders {
		h.path = path
		h.start()
	}
	time.Sleep(20 * time.Second) // of the load
	finish(t, holders, 1)
	if v := compare(holders); v.duplicates == 0 {
		t.Errorf("no ID twice of %d: the load does not need the rule", v.ids)
	} else {
		t.Logf("%d of %d IDs twice", v.duplicates, v.ids)
	}
}

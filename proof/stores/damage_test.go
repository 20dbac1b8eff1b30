package stores

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowgrid/snowgrid/client/s3/s3test"
)

// remove deletes node 0's record past the store, as an operator does by mistake.
func (s *site) remove() {
	s.t.Helper()
	switch under := s.server.(type) {
	case *s3test.Server:
		must(s.t, os.Remove(under.File("ids/default/0.json")))
	default:
		if path := map[string]string{"etcd": "/ids/", "mixed": "/ids/snowgrid/"}[s.engine.name]; path != "" {
			cli, err := clientv3.New(clientv3.Config{Endpoints: []string{s.addr}})
			must(s.t, err)
			defer func() { _ = cli.Close() }()
			gone, err := cli.Delete(s.t.Context(), path+"default/0.json")
			must(s.t, err)
			if gone.Deleted != 1 {
				s.t.Fatalf("%d keys deleted", gone.Deleted)
			}
			return
		}
		db, err := sql.Open("pgx", postgresURL(s.addr))
		must(s.t, err)
		defer func() { _ = db.Close() }()
		gone, err := db.ExecContext(s.t.Context(), "DELETE FROM snowgrid WHERE record_key = 'default/0.json'")
		must(s.t, err)
		if n, _ := gone.RowsAffected(); n != 1 {
			s.t.Fatalf("%d rows deleted", n)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeletedRecord: the holder of a record that was deleted takes another one and says
// why. No start creates the record again: the next one waits and names the remedy.
func TestDeletedRecord(t *testing.T) {
	each(t, served(), func(t *testing.T, s *site) {
		first, late := s.newHolder("first", loop("2")...), s.newHolder("late", loop("2")...)
		first.start()
		first.awaitNode(1, patience)
		s.remove()
		first.awaitNode(2, patience)
		if log := tail(first.file("log")); !strings.Contains(log, "missing") || !strings.Contains(log, "repair") {
			t.Errorf("the log does not say what to do:\n%s", log)
		}
		late.start()
		late.await("reason with the damage", patience, func(lines []string) bool {
			return late.waits() > 0 && strings.Contains(strings.Join(lines, "\n"), "damaged")
		})
		finish(t, []*holder{first}, 1)
		compare([]*holder{first, late}).judge(t, 10_000)
	})
}

package host

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/backup"
	"github.com/snowgrid/snowgrid/grid/internal/api"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire/member"
	"github.com/snowgrid/snowgrid/partition"
)

// TestParkingIsBounded: so many messages wait for the roster, and so many bytes.
func TestParkingIsBounded(t *testing.T) {
	var p parking
	var leave []func()
	for range parkedMax {
		end, room := p.enter(1)
		if !room {
			t.Fatal("no room for a message")
		}
		leave = append(leave, end)
	}
	if _, room := p.enter(1); room {
		t.Error("one more message waits than may")
	}
	for _, end := range leave {
		end()
	}
	end, room := p.enter(parkedBytesMax)
	if !room {
		t.Fatal("no room for a large message")
	}
	if _, room := p.enter(1); room {
		t.Error("more bytes wait than may")
	}
	end()
	if p.count != 0 || p.bytes != 0 {
		t.Error("something is left of those that went")
	}
}

// TestTableWaitsForTheRoster: a table that is there before its term is in the roster is
// taken when the roster shows it, and else is to be sent again.
func TestTableWaitsForTheRoster(t *testing.T) {
	for what, shows := range map[string]bool{"the roster shows it": true, "the roster does not": false} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLonely(t)
				next := l.m.state.Roster().Version + 1
				at := backup.Position{Term: roster.Term(next), Number: 3}
				answers := make(chan member.ReplicateResponse)
				began := time.Now()
				go func() {
					res, err := api.Await(t.Context(), member.ReplicateRequest{Version: next, Position: at, Pages: 1,
						Table: &member.Table{}}, l.m.startReplicate)
					if err != nil {
						t.Error(err)
					}
					answers <- res
				}()
				time.Sleep(partition.ParkTime / 2)
				if shows {
					l.change(roster.Change{Take: []roster.Replica{{Partition: 0, Member: backupInc}}})
				}
				res := <-answers
				if took := time.Since(began); (res.Held == at) != shows || res.NotYet == shows || took > partition.ParkTime {
					t.Errorf("after %v: %+v", took, res)
				}
			})
		})
	}
}

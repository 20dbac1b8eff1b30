package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/internal/buildinfo"
	"github.com/snowgrid/snowgrid/internal/failure"
	"github.com/snowgrid/snowgrid/internal/roster"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/sequencer"
)

const (
	inc1 = "0000000000000001-00000000000000aa"
	inc2 = "0000000000000002-00000000000000bb"
)

func exampleStatus() grid.Status {
	now := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	return grid.Status{
		Grid: "01" + strings.Repeat("0", 30), Name: "shop", Version: 7, Answering: inc1, AnsweringName: "web-1", Ready: true,
		Leader: inc2, NotSettled: "1 of 2 partitions have fewer copies",
		Settings:    grid.Settings{Name: "shop", Partitions: 2, Backups: 1, Window: 15000},
		ClusterTime: now, Ceiling: now.Add(13500 * time.Millisecond),
		Members: []grid.MemberInfo{
			{Incarnation: inc1, Name: "web-1", API: "10.0.0.1:7948", Voter: true, Durable: true, Alive: true, Partitions: 1,
				Replicas: 1, Settled: true},
			{Incarnation: inc2, API: "10.0.0.2:7948", Voter: true, Leader: true, Partitions: 1, Replicas: 2},
		},
		Partitions: []grid.PartitionInfo{
			{ID: 0, Owner: inc1, InSync: []string{inc1, inc2}, Term: 3, Floor: now,
				Disks: []string{"0000000000000001"}},
			{ID: 1, Owner: inc2, InSync: []string{inc2}, Term: 4,
				Disks: []string{"0000000000000003"}, Awaited: []string{"0000000000000003"}},
		},
		Disks: []grid.DiskInfo{
			{Member: "0000000000000001", Partitions: 1, Alone: 1, Runs: true},
			{Member: "0000000000000003", Partitions: 1, Alone: 1, Awaited: 1},
		},
		Sequencers: []grid.SequencerInfo{{
			Name: "orders", Epoch: epoch.Default.Time(), Exhausted: now.AddDate(34, 0, 0), Nodes: 8192, Partition: 1,
			Owner: inc2, Attached: 10, AttachedNodes: []sequencer.NodeID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
		}},
	}
}

// member serves a status as a member does.
func member(t *testing.T, status int, body any) (addr string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if agent := r.UserAgent(); agent != "snowgrid/"+buildinfo.Read().Short() {
			t.Errorf("the User-Agent is %q", agent)
		}
		if r.Method != http.MethodGet || r.URL.Path != "/v1/status" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestStatusTable(t *testing.T) {
	// The first address does not answer: the second is asked.
	addrs := "127.0.0.1:1," + member(t, http.StatusOK, exampleStatus())
	status, got, stderr := runCommand(t, "status", "--partitions", "--addr", addrs)
	want := `grid          shop (01000000000000000000000000000000)
answered by   web-1 (` + inc1 + `)
settled       no: 1 of 2 partitions have fewer copies
leader        ` + inc2 + `
cluster time  2026-07-01T12:00:00.000Z
ceiling       2026-07-01T12:00:13.500Z (13.5s ahead)
settings      2 partitions, backups 1 (some have 0), window 15s, voters 3
partitions    2, 0 without an owner, 1 with fewer backups than configured

NAME   MEMBER            ROLE    DISK  STATE    OWNS  COPIES  API
web-1  0000000000000001  voter   yes   in sync  1     1       10.0.0.1:7948
-      0000000000000002  leader  no    silent   1     2       10.0.0.2:7948

DISK OF           RUNS  PARTITIONS  ALONE  AWAITED
0000000000000001  yes   1           1      0
0000000000000003  no    1           1      1

PARTITION  OWNER             BACKUPS           DISKS               TERM  FLOOR
0          web-1             0000000000000002  0000000000000001    3     2026-07-01T12:00:00.000Z
1          0000000000000002  -                 (0000000000000003)  4     -

SEQUENCER  ATTACHED  NODES  LAYOUT      ENDS        OWNER
orders     10        8192   63/23/8192  2060-07-01  0000000000000002
`
	if status != 0 || got != want {
		t.Errorf("status %d, stderr %q, stdout\n%s\nwant\n%s", status, stderr, got, want)
	}
}

// TestStatusOfARecoveredGrid: the status repeats what a recovery lost, and names absent voters.
// TestStatusSettingsFit: the line of the settings fits a terminal of 80 columns, while copies are missing too.
func TestStatusSettingsFit(t *testing.T) {
	s := exampleStatus()
	s.Settings.Partitions, s.Settings.Backups, s.Copies = roster.DefaultPartitions, 2, 1
	_, got, _ := runCommand(t, "status", "--addr", member(t, http.StatusOK, s))
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "settings") && (len(line) > 81 || !strings.Contains(line, "(some have 1)")) {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

func TestStatusOfARecoveredGrid(t *testing.T) {
	s := exampleStatus()
	s.AbsentVoters, s.Absent = []string{"0000000000000003"}, []grid.AbsentVoter{{ID: "0000000000000003",
		Name: "web-3", Raft: "10.0.0.3:7947"}}
	s.Recovered = &grid.RecoveryInfo{
		Old: "02" + strings.Repeat("0", 30), At: s.Wall.UnixMilli(),
		Lost:      []grid.LostMember{{ID: "0000000000000004", API: "10.0.0.4:7948"}, {ID: "0000000000000005"}},
		Forgotten: []int{0}, Outdated: []int{1},
	}
	_, got, _ := runCommand(t, "status", "--addr", member(t, http.StatusOK, s))
	for _, want := range []string{
		"web-3 (0000000000000003) at 10.0.0.3:7947 has a vote", "members remove 0000000000000003`",
		"members given up: 0000000000000004 at 10.0.0.4:7948, 0000000000000005\n", "every definition in 1 partition:",
		"the latest definitions in 1 partition",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestStatusJSON(t *testing.T) {
	status, stdout, stderr := runCommand(t, "status", "-o", "json", "--addr", member(t, http.StatusOK, exampleStatus()))
	var got grid.Status
	if err := json.Unmarshal([]byte(stdout), &got); status != 0 || err != nil || !reflect.DeepEqual(got, exampleStatus()) {
		t.Errorf("status %d, stderr %q, error %v, stdout\n%s", status, stderr, err, stdout)
	}
}

func TestStatusOfAGridThatIsNotWell(t *testing.T) {
	s := grid.Status{Name: "shop", Answering: inc1, NotReady: "it waits for a majority", Unreachable: []string{inc2}}
	var out strings.Builder
	if err := aligned(&out, func(w io.Writer) { printStatus(w, s, false) }); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"which is not ready: it waits for a majority", "leader        -\n", "unreachable   " +
		inc2,
		"settings      -\n", "partitions    -\n"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is not in\n%s", part, out.String())
		}
	}
	// A member without a grid has no partitions: the status claims nothing about backups and sequencers.
	for _, claim := range []string{"every backup", "no sequencers"} {
		if strings.Contains(out.String(), claim) {
			t.Errorf("%q is in\n%s", claim, out.String())
		}
	}
}

// TestStatusWithoutARoster: a member that waits for its grid shows no ID of one.
func TestStatusWithoutARoster(t *testing.T) {
	s := grid.Status{Name: "shop", Grid: "none", Answering: inc1}
	var out strings.Builder
	if err := aligned(&out, func(w io.Writer) { printStatus(w, s, false) }); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "grid          shop, whose roster this member has not received\n") {
		t.Errorf("%s", got)
	}
}

// TestStatusNamesUnresolvedSeeds: for each member, and for a member without a grid.
func TestStatusNamesUnresolvedSeeds(t *testing.T) {
	s := exampleStatus()
	s.UnresolvedJoin = []string{"ids.internal (no such host)"}
	s.Members[0].Report = &grid.MemberReport{UnresolvedJoin: s.UnresolvedJoin}
	s.Members[1].Report = &grid.MemberReport{UnresolvedJoin: []string{"file:m (empty)", "x (timeout)"}}
	const remedy = ": correct the address to join (--join), or restore its DNS record or file\n"
	both := "not resolved  of web-1 (" + inc1 + "): ids.internal (no such host)" + remedy + "not resolved  of " + inc2 +
		": file:m (empty), x (timeout)" + remedy
	alone := grid.Status{Name: "shop", Answering: inc1, AnsweringName: "web-1", UnresolvedJoin: s.UnresolvedJoin}
	for want, s := range map[string]grid.Status{both: s, "not resolved  of web-1 (" + inc1 +
		"): ids.internal (no such host)" + remedy: alone} {
		var out strings.Builder
		if err := aligned(&out, func(w io.Writer) { printStatus(w, s, false) }); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "not resolved") != strings.Count(want,
			"not resolved") {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestStatusRefused(t *testing.T) {
	tests := []struct {
		code int
		body any
		want string
	}{
		{http.StatusServiceUnavailable, map[string]string{"code": "unavailable", "message": "the grid forms"},
			"the grid forms"},
		{http.StatusTeapot, "tea", "418"},
		{http.StatusOK, []int{1}, "cannot unmarshal"},
	}
	for _, test := range tests {
		addr := member(t, test.code, test.body)
		status, stdout, stderr := runCommand(t, "status", "--addr", addr)
		if status != exitFailed || stdout != "" || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, addr) {
			t.Errorf("%v: status %d, stdout %q, stderr %q, want %q and the address", test.body, status, stdout, stderr,
				test.want)
		}
	}
}

// TestNoSequencersIsNotSaidOfAPart: a status that lacks the sequencers of a partition does not say that there
// are none.
func TestNoSequencersIsNotSaidOfAPart(t *testing.T) {
	s := exampleStatus()
	s.Sequencers, s.Unlisted = nil, []int{1}
	var out strings.Builder
	if err := aligned(&out, func(w io.Writer) { printStatus(w, s, false) }); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "not listed ") || strings.Contains(text, "no sequencers") {
		t.Errorf("the status is\n%s", text)
	}
}

// TestChangesGoToAMemberInAGrid: with several addresses a change is sent to a member that is part of a grid,
// and to another one only if no member is. The status is from the first in any case.
func TestChangesGoToAMemberInAGrid(t *testing.T) {
	waiting, _ := gridMember(t, grid.Status{Name: "shop", Answering: inc2, NotReady: "it waits for a majority"})
	joined, sent := gridMember(t, exampleStatus())
	for _, args := range []string{"sequencers remove --unused-for 1h --yes", "settings", "quota list",
		"keyring list", "forget 0000000000000003"} {
		sent.Store(nil)
		status, stdout, stderr := runCommand(t, append(strings.Fields(args), "--addr", waiting+","+joined)...)
		if path := sent.Load(); status != 0 || path == nil {
			t.Errorf("%s: status %d, sent %v\n%s%s", args, status, path, stdout, stderr)
		}
		status, _, stderr = runCommand(t, append(strings.Fields(args), "--addr", waiting)...)
		if status == 0 || !strings.Contains(stderr, "is not part of a grid yet") && !strings.Contains(stderr, "no member") {
			t.Errorf("%s at a member without a grid: status %d, %s", args, status, stderr)
		}
	}
	_, stdout, _ := runCommand(t, "status", "--addr", waiting+","+joined)
	if !strings.Contains(stdout, "waits for a majority") {
		t.Errorf("the status is\n%s", stdout)
	}
}

// gridMember serves a status, and every other request: with an empty result if it is part of a grid, else by a
// refusal. It returns the path of the last other request.
func gridMember(t *testing.T, s grid.Status) (addr string, sent *atomic.Pointer[string]) {
	t.Helper()
	sent = new(atomic.Pointer[string])
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == wire.PathStatus:
			_ = json.NewEncoder(w).Encode(s)
		case s.Version == 0:
			w.WriteHeader(http.StatusServiceUnavailable)
			err := failure.Errorf(sequencer.ErrUnavailable, "it is not part of a grid yet")
			_ = json.NewEncoder(w).Encode(wire.ErrorOf(err, 0))
		default:
			sent.Store(&r.URL.Path)
			_, _ = w.Write([]byte("{}"))
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), sent
}

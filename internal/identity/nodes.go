package identity

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/snowgrid/snowgrid/internal/attachment"
	"github.com/snowgrid/snowgrid/internal/durable"
	"github.com/snowgrid/snowgrid/sequencer"
)

// maxNodes bounds the logical nodes that are remembered. Further ones are not.
const maxNodes = 16384

// slack is the number of lines that the file may have beyond twice the remembered nodes.
const slack = 1000

// Nodes stores a process's logical nodes across restarts: a [Seat] for each handle on a name. It is a
// help: without its file, or with old or damaged content, a process gets other logical nodes, and no
// worse. Each attach appends a line to the file, which is rewritten when it has many obsolete lines.
// nil remembers nothing. The methods are safe for concurrent use.
type Nodes struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex // guards the fields below, and the seats; held while a line is written
	file   *os.File   // nil after a failure
	seats  map[string][]*Seat
	count  int
	lines  int
	failed bool
	closed bool
}

// Seat is the stored state for one handle. A restarted process takes its predecessor's seats, by
// name and in the same order.
type Seat struct {
	name  string
	index int
	taken bool // a handle in this process has it
	known bool // node and id belong to an attachment, from this process or an earlier one
	early bool // from an earlier one
	node  sequencer.NodeID
	id    attachment.ID
}

// line is one line in the file, after its checksum. A line without an attachment removes the seat.
type line struct {
	Name string           `json:"name"`
	Seat int              `json:"seat"`
	Node sequencer.NodeID `json:"node"`
	ID   *attachment.ID   `json:"id,omitempty"`
}

// OpenNodes reads the file in a data directory.
//
// Errors: sequencer.ErrInvalidConfig if it cannot be read or written. Damaged lines are left
// out, and logged.
func OpenNodes(dir string, log *slog.Logger) (*Nodes, error) {
	n := &Nodes{path: filepath.Join(dir, NodesFile), log: log, seats: map[string][]*Seat{}}
	data, err := os.ReadFile(n.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, invalid("%v", err)
	}
	if damaged := n.read(data); damaged > 0 {
		log.Warn("damaged lines with logical nodes ignored", "file", n.path, "lines", damaged)
	}
	if err := n.rewrite(); err != nil {
		return nil, invalid("%v", err)
	}
	return n, nil
}

// read takes in a file's lines, and returns how many are damaged.
func (n *Nodes) read(data []byte) (damaged int) {
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 4096)
	for in.Scan() {
		l, err := decodeLine(in.Bytes())
		if err != nil {
			damaged++
			continue
		}
		for len(n.seats[l.Name]) <= l.Seat && n.count < maxNodes {
			n.add(l.Name)
		}
		if len(n.seats[l.Name]) <= l.Seat {
			continue
		}
		s := n.seats[l.Name][l.Seat]
		if s.known, s.early = l.ID != nil, l.ID != nil; s.known {
			s.node, s.id = l.Node, *l.ID
		}
	}
	if in.Err() != nil {
		damaged++
	}
	return damaged
}

func (n *Nodes) add(name string) *Seat {
	s := &Seat{name: name, index: len(n.seats[name])}
	n.seats[name] = append(n.seats[name], s)
	n.count++
	return s
}

func decodeLine(text []byte) (l line, err error) {
	sum, rest, found := bytes.Cut(text, []byte(" "))
	if !found {
		return l, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || crc32.ChecksumIEEE(rest) != uint32(want) {
		return l, errors.New("the checksum does not match the content")
	}
	if err := json.Unmarshal(rest, &l); err != nil {
		return l, err
	}
	if l.Name == "" || l.Seat < 0 || l.Seat >= attachment.MaxStripes*4 {
		return l, errors.New("no such seat")
	}
	return l, nil
}

func encodeLine(s *Seat) []byte {
	l := line{Name: s.name, Seat: s.index, Node: s.node}
	if s.known {
		l.ID = &s.id
	}
	text, _ := json.Marshal(l) // a string and numbers: it never fails
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text)
}

// rewrite replaces the file by one with the lines that count, and opens that to be appended
// to. mu must be held once others have n.
func (n *Nodes) rewrite() error {
	var out bytes.Buffer
	n.lines = 0
	for _, seats := range n.seats {
		for _, s := range seats {
			if s.known {
				out.Write(encodeLine(s))
				n.lines++
			}
		}
	}
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
	if err := durable.Replace(n.path, out.Bytes(), nil); err != nil {
		return err
	}
	var err error
	n.file, err = os.OpenFile(n.path, os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

// Take returns the seat for a new handle on a name, if possible one left by the earlier process. It
// returns nil if there are too many.
func (n *Nodes) Take(name string) *Seat {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.seats[name], func(s *Seat) bool { return !s.taken })
	if i < 0 && (n.count >= maxNodes || len(n.seats[name]) >= attachment.MaxStripes*4) {
		return nil
	}
	if i < 0 {
		i = n.add(name).index
	}
	n.seats[name][i].taken = true
	return n.seats[name][i]
}

// Give returns the seat of a handle that was given up. ended reports that the sequencer's life has
// ended, so that the seat is obsolete.
func (n *Nodes) Give(s *Seat, ended bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.taken = false
	if ended && s.known {
		s.known, s.early = false, false
		n.write(s)
	}
}

// Wanted returns the preferred logical node, and the earlier process's attachment on it, zero if
// this process has attached since.
func (n *Nodes) Wanted(s *Seat) (node sequencer.NodeID, previous attachment.ID, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.early {
		previous = s.id
	}
	return s.node, previous, s.known
}

// Attached remembers an attachment. The file has it when Attached returns, unless writing
// fails, which is logged.
func (n *Nodes) Attached(s *Seat, node sequencer.NodeID, id attachment.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s.known, s.early, s.node, s.id = true, false, node, id
	n.write(s)
}

// write appends a seat's line. An operating system crash may lose it; a killed process does not.
func (n *Nodes) write(s *Seat) {
	if n.closed {
		return
	}
	var err error
	if n.lines++; n.lines > 2*n.count+slack {
		err = n.rewrite() // with the line
	} else if n.file != nil {
		_, err = n.file.Write(encodeLine(s))
	}
	if err != nil && !n.failed {
		n.log.Warn("logical nodes not remembered for the next start", "file", n.path, "error", err)
	}
	n.failed = err != nil
}

// Close closes the file. Nothing is remembered from then on.
func (n *Nodes) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	if n.file != nil {
		_ = n.file.Close()
		n.file = nil
	}
}

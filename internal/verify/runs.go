package verify

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// row is one ID with its line, and its host above lineBits.
type row struct {
	id uint64
	at uint64
}

// lineBits limits line numbers to 10^12.
const lineBits = 40

func (r row) line() uint64 { return r.at & (1<<lineBits - 1) }
func (r row) host() int    { return int(r.at >> lineBits) }

// chunkRows limits a sorted run to 64 MiB. At most five are in memory.
const chunkRows = 4 << 20

// runs stores sorted runs: the last one in memory, the others in one file.
type runs struct {
	dir     string
	file    *os.File
	writer  *bufio.Writer
	ends    []int64 // where the file's runs end
	pending []row   // sorted, not in the file
	scratch []row
}

func newRuns(dir string) (*runs, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("verify: temporary directory %q: not a directory; give another one", dir)
	}
	return &runs{dir: dir}, nil
}

func (s *runs) close() {
	if s.file != nil {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name()) // where it could not be removed while open
	}
}

// add sorts a chunk, which it owns from then on, and stores the one before it.
func (s *runs) add(chunk []row) error {
	if err := s.spill(); err != nil {
		return err
	}
	s.pending, s.scratch = sortRows(chunk, s.scratch)
	return nil
}

func (s *runs) spill() error {
	if s.pending == nil {
		return nil
	}
	if s.file == nil {
		file, err := os.CreateTemp(s.dir, "snowgrid-verify-*")
		if err != nil {
			return fmt.Errorf("verify: temporary file: %w; give another directory", err)
		}
		_ = os.Remove(file.Name()) // it ends with the process, except on Windows
		s.file = file
	}
	if s.writer == nil {
		s.writer = bufio.NewWriterSize(s.file, 1<<20)
	}
	var last row
	var buffer [2 * binary.MaxVarintLen64]byte
	for _, r := range s.pending {
		n := binary.PutUvarint(buffer[:], r.id-last.id)
		n += binary.PutVarint(buffer[n:], int64(r.at)-int64(last.at))
		_, _ = s.writer.Write(buffer[:n]) // Flush returns its error
		last = r
	}
	err := s.writer.Flush()
	end, seekErr := s.file.Seek(0, io.SeekCurrent)
	if err = cmp.Or(err, seekErr); err != nil {
		return fmt.Errorf("verify: temporary file: %w; give a directory with more room", err)
	}
	s.ends = append(s.ends, end)
	s.pending = nil
	return nil
}

// merge calls f with all rows, sorted by ID and then by line.
func (s *runs) merge(f func(row) error) error {
	s.scratch = nil
	var heap heads
	begin := int64(0)
	for _, end := range s.ends {
		in := bufio.NewReaderSize(io.NewSectionReader(s.file, begin, end-begin), int(min(256<<10, end-begin)))
		if err := heap.push(&head{in: in}); err != nil {
			return err
		}
		begin = end
	}
	if err := heap.push(&head{memory: s.pending}); err != nil {
		return err
	}
	for len(heap) > 0 {
		if err := f(heap[0].row); err != nil {
			return err
		}
		if err := heap.advance(); err != nil {
			return err
		}
	}
	return nil
}

// head is a run's next row.
type head struct {
	row
	in     *bufio.Reader // nil for the run in memory
	memory []row
}

// next reads the next row, and returns io.EOF after the last.
func (h *head) next() error {
	if h.in == nil {
		if len(h.memory) == 0 {
			return io.EOF
		}
		h.row, h.memory = h.memory[0], h.memory[1:]
		return nil
	}
	id, err := binary.ReadUvarint(h.in)
	if err != nil {
		return err // io.EOF between two rows
	}
	at, err := binary.ReadVarint(h.in)
	if err != nil {
		return fmt.Errorf("verify: temporary file: %w", io.ErrUnexpectedEOF)
	}
	h.row = row{h.id + id, uint64(int64(h.at) + at)}
	return nil
}

func (h *head) less(o *head) bool { return h.id < o.id || h.id == o.id && h.line() < o.line() }

// heads is a binary heap with the smallest row first.
type heads []*head

// push adds a run, unless it is empty.
func (s *heads) push(h *head) error {
	if err := h.next(); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	*s = append(*s, h)
	for i := len(*s) - 1; i > 0 && (*s)[i].less((*s)[(i-1)/2]); i = (i - 1) / 2 {
		(*s)[i], (*s)[(i-1)/2] = (*s)[(i-1)/2], (*s)[i]
	}
	return nil
}

// advance replaces the first row by the next one in its run.
func (s *heads) advance() error {
	all := *s
	if err := all[0].next(); err != nil {
		if !errors.Is(err, io.EOF) {
			return err
		}
		all[0] = all[len(all)-1]
		all = all[:len(all)-1]
		*s = all
	}
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(all); child++ {
			if all[child].less(all[least]) {
				least = child
			}
		}
		if least == i {
			return nil
		}
		all[i], all[least] = all[least], all[i]
		i = least
	}
}

// digitBits is the digit width in sortRows: 2^11 counters fit into the processor's first cache.
const digitBits = 11

// sortRows sorts rows by ID, stably, and returns them with the other slice. It is a radix sort from the lowest digit
// (Knuth, The Art of Computer Programming, volume 3, 5.2.5) that skips digits which are equal in all rows.
func sortRows(rows, scratch []row) (sorted, other []row) {
	if cap(scratch) < len(rows) {
		scratch = make([]row, cap(rows))
	}
	scratch = scratch[:len(rows)]
	for shift := 0; shift < 64; shift += digitBits {
		var counts [1 << digitBits]int
		for _, r := range rows {
			counts[r.id>>shift&(1<<digitBits-1)]++
		}
		if len(rows) > 0 && counts[rows[0].id>>shift&(1<<digitBits-1)] == len(rows) {
			continue
		}
		sum := 0
		for i, n := range counts {
			counts[i] = sum
			sum += n
		}
		for _, r := range rows {
			digit := r.id >> shift & (1<<digitBits - 1)
			scratch[counts[digit]] = r
			counts[digit]++
		}
		rows, scratch = scratch, rows
	}
	return rows, scratch
}

package frames

import (
	"bufio"
	"bytes"
	"io"
)

const (
	// calmBuffer is the buffer size for a connection on which frames arrive singly, as for most
	// holders; burstBuffer the size if many arrive together, since fewer reads are better.
	calmBuffer  = 512
	burstBuffer = 4 << 10
)

// reader buffers incoming bytes. Its buffer grows once several frames fill it.
type reader struct {
	*bufio.Reader
	from io.Reader
}

func newReader(from io.Reader) *reader {
	return &reader{bufio.NewReaderSize(from, calmBuffer), from}
}

// Rest returns a reader for a connection that begins with the bytes read ahead for the upgrade. It
// does not keep ahead's buffer.
func Rest(conn io.Reader, ahead *bufio.Reader) io.Reader {
	early, _ := ahead.Peek(ahead.Buffered())
	if len(early) == 0 {
		return conn
	}
	return io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn)
}

// grow is called before a frame is read, with its size.
func (r *reader) grow(size int) {
	if r.Size() > calmBuffer || r.Buffered() < calmBuffer || size > calmBuffer {
		return // a large payload is read without the buffer
	}
	have, _ := r.Peek(r.Buffered())
	r.Reader = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(have), r.from), burstBuffer)
}

package transport

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// pipe is one direction of a stream: it keeps written bytes until they are read.
type pipe struct {
	net.Conn
	bytes.Buffer
}

func (p *pipe) Read(b []byte) (int, error)  { return p.Buffer.Read(b) }
func (p *pipe) Write(b []byte) (int, error) { return p.Buffer.Write(b) }

// TestRepeatedMessages: a reader gets the written bytes, in reads and messages of any size.
func TestRepeatedMessages(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var line pipe
		from, to := newRepeating(&line), newRepeating(&line)
		var known [][]byte
		for range 12 {
			message := make([]byte, 1+random.IntN(2*repeatMost))
			for i := range message {
				message[i] = byte(random.Uint32())
			}
			known = append(known, message)
		}
		for range 200 {
			message := known[random.IntN(1+random.IntN(len(known)))]
			if n, err := from.Write(message); n != len(message) || err != nil {
				t.Fatalf("seed %d: wrote %d of %d bytes: %v", seed, n, len(message), err)
			}
			got := make([]byte, len(message))
			for at := 0; at < len(got); {
				n, err := to.Read(got[at:min(len(got), at+1+random.IntN(len(got)))])
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				at += n
			}
			if !bytes.Equal(got, message) || line.Len() > 0 {
				t.Fatalf("seed %d: read another message, and %d bytes are left", seed, line.Len())
			}
		}
	}
}

// TestHeartbeatIsOneByte: also with other messages in between.
func TestHeartbeatIsOneByte(t *testing.T) {
	var line pipe
	c := newRepeating(&line)
	send := func(message []byte) int {
		before := line.Len()
		if _, err := c.Write(message); err != nil {
			t.Fatal(err)
		}
		return line.Len() - before
	}
	heartbeat := bytes.Repeat([]byte("heartbeat"), 30)
	send(heartbeat)
	for i := range repeatPlaces - 1 {
		send([]byte{byte(i)})
		if n := send(heartbeat); n != 1 {
			t.Errorf("%d bytes after %d other messages", n, i+1)
		}
	}
	send([]byte("one more"))
	if n := send(heartbeat); n < len(heartbeat) {
		t.Errorf("%d bytes of a message that the ring has no longer", n)
	}
}

// TestBadRepeats: an end in the middle of a message and a repetition of nothing are errors.
func TestBadRepeats(t *testing.T) {
	for what, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing":               {nil, io.EOF},
		"half a number":         {[]byte{0x80}, io.ErrUnexpectedEOF},
		"zero":                  {[]byte{0}, errNoRepeat},
		"an empty place":        {[]byte{repeatPlaces + 1, 'a', 2}, errNoRepeat},
		"half a message":        {[]byte{repeatPlaces + 4, 'a'}, io.ErrUnexpectedEOF},
		"a number of 11 digits": {bytes.Repeat([]byte{0xff}, 11), nil},
	} {
		var line pipe
		line.Buffer.Write(c.in)
		var err error
		for to, b := newRepeating(&line), make([]byte, 16); err == nil; {
			_, err = to.Read(b)
		}
		if c.want != nil && !errors.Is(err, c.want) || c.want == nil && errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
}

// FuzzRepeats: bytes from outside keep little memory, and what they decode to is sent and
// read again as it is.
func FuzzRepeats(f *testing.F) {
	f.Add([]byte{repeatPlaces + 2, 'a', 'b', 1, 1, repeatPlaces + 1, 'c', 2})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2, 3})
	f.Fuzz(func(t *testing.T, in []byte) {
		var line pipe
		line.Buffer.Write(in)
		c := newRepeating(&line)
		out, _ := io.ReadAll(io.LimitReader(struct{ io.Reader }{c}, 1<<20))
		if most := repeatMost; cap(c.partial) > 4*most || len(out) > 0 && len(in) == 0 {
			t.Errorf("%d bytes kept of a message", cap(c.partial))
		}
		var again pipe
		if _, err := newRepeating(&again).Write(out); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(struct{ io.Reader }{newRepeating(&again)}); err != nil || !bytes.Equal(got, out) {
			t.Errorf("read %d bytes of %d: %v", len(got), len(out), err)
		}
	})
}

package libraries

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/snowgrid/snowgrid/sequencer"
)

// TestRedis: go-redis sends the digits, so that every other client of the same data finds
// what was stored, and reads them back.
func TestRedis(t *testing.T) {
	server := listen(t)
	c := redis.NewClient(&redis.Options{Addr: server.addr, Protocol: 2, DisableIdentity: true})
	defer func() { _ = c.Close() }()
	ctx := t.Context()
	for _, err := range []error{
		c.Set(ctx, "last", id, 0).Err(),
		c.SAdd(ctx, "orders", id, id+1).Err(),
		c.HSet(ctx, "order", "id", id).Err(),
		c.HSet(ctx, "order", struct {
			ID sequencer.ID `redis:"id"`
		}{id}).Err(),
		c.ZAdd(ctx, "by", redis.Z{Score: 1, Member: id}).Err(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	server.mu.Lock()
	for _, want := range []string{
		"set last 235067008364840961", "sadd orders 235067008364840961 235067008364840962",
		"hset order id 235067008364840961",
		"hset order id 235067008364840961", "zadd by 1 235067008364840961",
	} {
		if !slices.Contains(server.seen, want) {
			t.Errorf("%q was not sent; seen %q", want, server.seen)
		}
	}
	server.mu.Unlock()
	var got sequencer.ID
	if err := c.Get(ctx, "last").Scan(&got); err != nil || got != id {
		t.Errorf("read as %d, %v", got, err)
	}
	var row struct {
		ID sequencer.ID `redis:"id"`
	}
	if err := c.HGetAll(ctx, "order").Scan(&row); err != nil || row.ID != id {
		t.Errorf("the hash is read as %+v, %v", row, err)
	}
}

// recorder answers commands of Redis, and records them.
type recorder struct {
	addr string

	mu   sync.Mutex
	seen []string
}

func listen(t *testing.T) *recorder {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	r := &recorder{addr: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go r.serve(conn)
		}
	}()
	return r
}

func (r *recorder) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		args, err := command(in)
		if err != nil {
			return
		}
		answer := ":1\r\n"
		switch strings.ToLower(args[0]) {
		case "get":
			answer = bulk(id.String())
		case "hgetall":
			answer = "*2\r\n" + bulk("id") + bulk(id.String())
		case "set":
			answer = "+OK\r\n"
		case "hello":
			answer = "-ERR unknown command\r\n"
		}
		r.mu.Lock()
		r.seen = append(r.seen, strings.Join(args, " "))
		r.mu.Unlock()
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// command reads an array of bulk strings.
func command(in *bufio.Reader) ([]string, error) {
	n, err := number(in)
	if err != nil || n < 1 {
		return nil, io.ErrUnexpectedEOF
	}
	args := make([]string, n)
	for i := range args {
		size, err := number(in)
		if err != nil {
			return nil, err
		}
		data := make([]byte, size+2)
		if _, err := io.ReadFull(in, data); err != nil {
			return nil, err
		}
		args[i] = string(data[:size])
	}
	return args, nil
}

func number(in *bufio.Reader) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.Atoi(line[1 : len(line)-2])
}

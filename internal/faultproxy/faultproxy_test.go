package faultproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/internal/faultproxy"
)

// echo serves lines back and counts them.
func echo(t *testing.T) (addr string, served *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	served = new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					served.Add(1)
					_, _ = fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String(), served
}

type line struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, addr string) line {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return line{c, bufio.NewReader(c)}
}

// ask sends one line and waits for its answer.
func (l line) ask(within time.Duration) error {
	if err := l.SetDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	if _, err := l.Write([]byte("hello\n")); err != nil {
		return err
	}
	_, err := l.answers.ReadString('\n')
	return err
}

const soon = 10 * time.Second

func TestFaults(t *testing.T) {
	addr, served := echo(t)
	p, err := faultproxy.Start(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()

	l := dial(t, p.Addr())
	if err := l.ask(soon); err != nil {
		t.Fatalf("no fault: %v", err)
	}

	p.Set(faultproxy.Fault{Delay: 50 * time.Millisecond})
	start := time.Now()
	if err := l.ask(soon); err != nil || time.Since(start) < 50*time.Millisecond {
		t.Errorf("delayed: %v after %v", err, time.Since(start))
	}

	p.Set(faultproxy.Fault{Hang: true})
	before := served.Load()
	if err := l.ask(50 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("hung: %v", err)
	}
	if served.Load() != before {
		t.Error("hung, and the request was forwarded")
	}
	p.Set(faultproxy.Fault{})
	_ = l.SetDeadline(time.Now().Add(soon))
	if _, err := l.answers.ReadString('\n'); err != nil {
		t.Errorf("the answer after a pause: %v", err)
	}

	p.Set(faultproxy.Fault{Lose: 1})
	before = served.Load()
	if err := l.ask(soon); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a lost answer: %v", err)
	}
	if served.Load() != before+1 || p.Lost() != 1 {
		t.Errorf("%d requests served, %d answers lost", served.Load()-before, p.Lost())
	}

	p.Set(faultproxy.Fault{})
	l = dial(t, p.Addr())
	if err := l.ask(soon); err != nil {
		t.Fatal(err)
	}
	p.Set(faultproxy.Fault{Cut: true})
	if err := l.ask(soon); err == nil {
		t.Error("an answer of a connection that was cut")
	}
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		if err := (line{c, bufio.NewReader(c)}).ask(soon); err == nil {
			t.Error("an answer of a new connection while cut")
		}
		_ = c.Close()
	}
	p.Set(faultproxy.Fault{})
	if err := dial(t, p.Addr()).ask(soon); err != nil {
		t.Errorf("after the cut: %v", err)
	}
}

func TestCloseEndsHungConnections(t *testing.T) {
	addr, _ := echo(t)
	p, err := faultproxy.Start(addr)
	if err != nil {
		t.Fatal(err)
	}
	l := dial(t, p.Addr())
	p.Set(faultproxy.Fault{Hang: true})
	if _, err := l.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	p.Close() // returns when every goroutine has ended
	p.Close()
	if err := l.ask(soon); err == nil {
		t.Error("an answer after Close")
	}
}

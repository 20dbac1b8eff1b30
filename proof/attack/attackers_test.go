//go:build linux

package attack_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowgrid/snowgrid/internal/authority"
	"github.com/snowgrid/snowgrid/internal/evil"
	"github.com/snowgrid/snowgrid/internal/wire"
	"github.com/snowgrid/snowgrid/internal/wire/frame"
	"github.com/snowgrid/snowgrid/security"
)

// attacker is a process that attacks members.
type attacker struct {
	order
	stranger, holder *tls.Config // without a certificate, and with a holder's
	number           atomic.Int64

	opened, ended, sent atomic.Int64
}

func newAttacker(o order) (*attacker, error) {
	by, err := authority.Load(filepath.Join(o.Dir, security.AuthorityFile),
		filepath.Join(o.Dir, security.AuthorityKeyFile))
	if err != nil {
		return nil, err
	}
	cert, err := evil.Issue(by, time.Now(), authority.Request{Name: "evil", Role: security.Holder})
	if err != nil {
		return nil, err
	}
	return &attacker{order: o, stranger: evil.Trusting(by), holder: evil.Trusting(by, cert)}, nil
}

// attacks are the ways to attack until ctx ends, by name.
var attacks = map[string]func(ctx context.Context, a *attacker){
	"silent connections": func(ctx context.Context, a *attacker) { a.crowd(ctx, nil, nil) },
	"half TLS handshakes": func(ctx context.Context, a *attacker) {
		a.crowd(ctx, nil,
			say("\x16\x03\x01\x02\x00\x01\x00\x01"))
	},
	"TLS without a certificate":       func(ctx context.Context, a *attacker) { a.crowd(ctx, a.stranger, nil) },
	"TLS with a holder's certificate": func(ctx context.Context, a *attacker) { a.crowd(ctx, a.holder, nil) },
	"half headers": func(ctx context.Context, a *attacker) {
		a.crowd(ctx, a.holder, say("GET /livez HTTP/1.1\r\nHost: x\r\nA: "))
	},
	"half bodies": func(ctx context.Context, a *attacker) {
		a.crowd(ctx, over("h2", a.holder),
			a.halfBodies)
	},
	"event streams":  func(ctx context.Context, a *attacker) { a.crowd(ctx, a.holder, a.eventStream) },
	"bodies of 1 MB": func(ctx context.Context, a *attacker) { a.repeat(ctx, 64, a.holder, a.bodies) },
	"names":          func(ctx context.Context, a *attacker) { a.names(ctx) },
	"HTTP/2 resets": func(ctx context.Context, a *attacker) {
		a.repeat(ctx, 4, over("h2", a.holder),
			a.resets)
	},
	"HTTP/2 CONTINUATION": func(ctx context.Context, a *attacker) {
		a.repeat(ctx, 4, over("h2", a.holder),
			a.continuations)
	},
	"frames, requests given up": func(ctx context.Context, a *attacker) {
		a.repeat(ctx, 4,
			over("http/1.1", a.holder), a.givenUp)
	},
	"frames, pings": func(ctx context.Context, a *attacker) {
		a.repeat(ctx, 4,
			over("http/1.1", a.holder), a.pings)
	},
	"garbage on every port": func(ctx context.Context, a *attacker) { a.garbage(ctx) },
	"silent connections to Raft, gossip": func(ctx context.Context, a *attacker) {
		a.API = a.Other
		a.crowd(ctx, nil,
			nil)
	},
}

// over returns a configuration with a protocol.
func over(proto string, conf *tls.Config) *tls.Config {
	conf = conf.Clone()
	conf.NextProtos = []string{proto}
	return conf
}

// say returns a first message of a connection.
func say(text string) func(net.Conn) error {
	return func(c net.Conn) error {
		_, err := io.WriteString(c, text)
		return err
	}
}

// open opens a connection to the next member, and speaks TLS if conf is not nil.
func (a *attacker) open(ctx context.Context, conf *tls.Config) (net.Conn, error) {
	to := a.API[int(a.number.Add(1))%len(a.API)]
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(a.From)}, Timeout: 5 * time.Second}
	raw, err := d.DialContext(ctx, "tcp", to)
	if err != nil {
		return nil, err
	}
	a.opened.Add(1)
	context.AfterFunc(ctx, func() { _ = raw.Close() })
	if conf == nil {
		return raw, nil
	}
	conn := tls.Client(raw, conf)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// crowd keeps as many connections open as it can, each of which says something and then is
// silent. One that ends is replaced.
func (a *attacker) crowd(ctx context.Context, conf *tls.Config, first func(net.Conn) error) {
	a.repeat(ctx, a.Connections, conf, func(_ context.Context, c net.Conn) {
		if first != nil && first(c) != nil {
			return
		}
		_, _ = io.Copy(io.Discard, c)
	})
}

// repeat has n loops, each of which opens a connection and uses it, and then the next.
func (a *attacker) repeat(ctx context.Context, n int, conf *tls.Config, use func(context.Context, net.Conn)) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				if c, err := a.open(ctx, conf); err == nil {
					use(ctx, c)
					_ = c.Close()
				}
				a.ended.Add(1)
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		})
	}
	all.Wait()
}

func (a *attacker) eventStream(c net.Conn) error {
	body := fmt.Sprintf(`{"holder":"evil-%s-%d"}`, a.From, a.number.Load())
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
		"%d\r\n\r\n%s", wire.PathEvents, len(body), body)
	return err
}

// bodies sends bodies of the largest size.
func (a *attacker) bodies(_ context.Context, c net.Conn) {
	body := bytes.Repeat([]byte("x"), wire.MaxBody)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for {
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+
			"%d\r\n\r\n%s", wire.PathRenew, len(body), body); err != nil {
			return
		}
		a.sent.Add(1)
	}
}

// names creates sequencers as fast as it can. None exists: those of an attack before have other names.
func (a *attacker) names(ctx context.Context) {
	t := &http.Transport{MaxConnsPerHost: 4, ForceAttemptHTTP2: true,
		DialTLSContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			d := tls.Dialer{NetDialer: &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(a.From)}},
				Config: over("h2", a.holder)}
			return d.DialContext(ctx, "tcp", addr)
		}}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for ctx.Err() == nil {
				n := a.number.Add(1)
				body := fmt.Sprintf(`{"name":"evil-%d-%d"}`, os.Getpid(), n)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+a.API[int(n)%len(a.API)]+wire.PathCreate,
					bytes.NewReader([]byte(body)))
				if err != nil {
					return
				}
				req.Header.Set("Content-Type", wire.JSON)
				res, err := t.RoundTrip(req)
				if err != nil {
					a.ended.Add(1)
					continue
				}
				if res.StatusCode == http.StatusOK {
					a.sent.Add(1)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	all.Wait()
}

// Types and flags of HTTP/2 frames (RFC 9113, 6), which are written by hand: a library refuses to
// write those of an attack.
const (
	frameData, frameHeaders, frameReset, frameSettings, frameContinuation = 0, 1, 3, 4, 9

	endHeaders = 4
)

// framer writes frames to a connection.
type framer struct{ c net.Conn }

func (f framer) write(kind, flags byte, stream uint32, payload []byte) error {
	n := len(payload)
	head := []byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags}
	_, err := f.c.Write(append(binary.BigEndian.AppendUint32(head, stream), payload...))
	return err
}

// frames begins HTTP/2, and returns what writes its frames, and the block of a request's headers.
func frames(c net.Conn, fields ...string) (framer, []byte, error) {
	f := framer{c}
	if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); err != nil {
		return f, nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	var block []byte
	fields = append([]string{":method", http.MethodPost, ":scheme", "https", ":authority", "x", ":path", wire.PathRenew,
		"content-type", wire.JSON}, fields...)
	for i := 0; i < len(fields); i += 2 { // literals without indexing (RFC 7541, 6.2.2)
		block = append(append(block, 0, byte(len(fields[i]))), fields[i]...)
		block = append(append(block, byte(len(fields[i+1]))), fields[i+1]...)
	}
	return f, block, f.write(frameSettings, 0, 0, nil)
}

// halfBodies has eight calls whose bodies fill most of their windows, without an end.
func (a *attacker) halfBodies(c net.Conn) error {
	f, block, err := frames(c, "content-length", fmt.Sprint(wire.MaxBody))
	for id := uint32(1); err == nil && id < 16; id += 2 {
		err = f.write(frameHeaders, endHeaders, id, block)
		for range 3 {
			if err == nil {
				err = f.write(frameData, 0, id, make([]byte, 16<<10))
			}
		}
		a.sent.Add(1)
	}
	return err
}

func (a *attacker) resets(_ context.Context, c net.Conn) {
	f, block, err := frames(c)
	for id := uint32(1); err == nil; id += 2 {
		if err = f.write(frameHeaders, endHeaders, id, block); err == nil {
			err = f.write(frameReset, 0, id, []byte{0, 0, 0, 8}) // CANCEL
		}
		a.sent.Add(1)
	}
}

func (a *attacker) continuations(_ context.Context, c net.Conn) {
	f, block, err := frames(c)
	if err == nil {
		err = f.write(frameHeaders, 0, 1, block)
	}
	for err == nil {
		err = f.write(frameContinuation, 0, 1, nil)
		a.sent.Add(1)
	}
}

// upgrade begins a framed connection.
func upgrade(c net.Conn) error {
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", frame.Path,
		frame.Protocol)
	go func() { _, _ = io.Copy(io.Discard, c) }()
	return err
}

// givenUp sends requests in frames, and gives each up immediately.
func (a *attacker) givenUp(_ context.Context, c net.Conn) {
	head, err := frame.AppendHead(nil, frame.Head{Path: wire.PathRenew})
	if err == nil {
		err = upgrade(c)
	}
	var out []byte
	for n := uint32(1); err == nil; n++ {
		out = frame.AppendHeader(out[:0], frame.Header{Length: uint32(len(head)), Number: n, Kind: frame.Request})
		out = frame.AppendHeader(append(out, head...), frame.Header{Number: n, Kind: frame.Cancel})
		_, err = c.Write(out)
		a.sent.Add(1)
	}
}

// pings sends pings in frames.
func (a *attacker) pings(_ context.Context, c net.Conn) {
	ping := frame.AppendHeader(nil, frame.Header{Kind: frame.Ping})
	for err := upgrade(c); err == nil; a.sent.Add(1) {
		_, err = c.Write(ping)
	}
}

// garbage sends random bytes to every port, and as datagrams.
func (a *attacker) garbage(ctx context.Context) {
	a.API = append(a.API, a.Other...)
	noise := make([]byte, 1<<10)
	var all sync.WaitGroup
	for _, to := range a.Other {
		all.Go(func() {
			c, err := net.Dial("udp", to)
			if err != nil {
				return
			}
			defer c.Close()
			for ctx.Err() == nil {
				_, _ = rand.Read(noise)
				_, _ = c.Write(noise) // the answers do not matter
				a.sent.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	a.repeat(ctx, min(a.Connections, 50), nil, func(_ context.Context, c net.Conn) {
		text := make([]byte, 1<<10)
		_, _ = rand.Read(text)
		_, _ = c.Write(text)
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, c)
	})
	all.Wait()
}

package main

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// unread opens a connection whose peer sends calls for 1,024 IDs each, and accepts no part of an answer: its windows
// are empty.
func unread(t *testing.T, addr string, calls int) {
	t.Helper()
	const batch = "/SnowflakeID/nextMultipleIDs"
	headers := "\x83\x86\x04" + string(rune(len(batch))) + batch + "\x01\x01a\x0f\x10\x10application/grpc"
	message := "\x00\x00\x00\x00\x03\x08\x80\x08" // {value: 1024}
	frame := func(kind, flags byte, stream uint32, payload string) string {
		head := []byte{0, 0, byte(len(payload)), kind, flags, 0, 0, byte(stream >> 8), byte(stream)}
		return string(head) + payload
	}
	var sends strings.Builder
	sends.WriteString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	sends.WriteString(frame(4, 0, 0, "\x00\x04\x00\x00\x00\x00")) // SETTINGS: windows of 0 bytes
	for i := range uint32(calls) {
		sends.WriteString(frame(1, 4, 2*i+1, headers))
		sends.WriteString(frame(0, 1, 2*i+1, message))
	}
	conn := dialed(t, addr)
	if _, err := io.WriteString(conn, sends.String()); err != nil {
		t.Fatal(err)
	}
}

// heapNow returns the size of the objects in use.
func heapNow() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// TestUnreadAnswersAreBounded: callers that read no answer have the process keep few of them.
func TestUnreadAnswersAreBounded(t *testing.T) {
	const connections, megabytes = 4, 32
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, m := ownService(t), newMetrics()
	server := newGRPC(s, m, nil, grpcLives)
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(ln) }()
	t.Cleanup(func() { server.Stop(); <-ended })
	before := heapNow()
	for range connections {
		unread(t, ln.Addr().String(), 256)
	}
	given := func() uint64 { return s.own.Load().Stats().IDs }
	deadline := time.Now().Add(30 * time.Second)
	for given() < connections*streamsMax*maxIDs && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond) // an unread answer has no event
	}
	grown := heapNow() - before
	t.Logf("%d IDs, %.1f MiB", given(), grown)
	if most := uint64(connections * streamsMax * maxIDs); given() != most || grown > megabytes {
		t.Errorf("%d unread IDs take %.1f MiB; want at most %d IDs and %d MiB", given(), grown, most, megabytes)
	}
}

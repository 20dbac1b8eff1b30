//go:build linux && !race

package grid_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/snowgrid/snowgrid/grid"
	"github.com/snowgrid/snowgrid/sequencer"
)

// TestNotPromisedCopiedProcess shows a case of RELIABILITY.md, "Not
// promised": a process that is copied while it runs, here by fork as a snapshot of its
// machine would, issues the same IDs as the original.
func TestNotPromisedCopiedProcess(t *testing.T) {
	m, err := grid.Start(testContext(t), grid.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Leave(context.Background()) }()
	s, err := m.CreateSequencer(testContext(t), "orders", sequencer.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // the two may be in different milliseconds
		if equal := issueInACopy(t, s); equal > 0 {
			return
		}
	}
	t.Error("no ID came twice")
}

// issueInACopy issues IDs here and in a copy of this process, and returns how many are
// equal.
func issueInACopy(t *testing.T, s *sequencer.Sequencer) (equal int) {
	var here, there [64]sequencer.ID
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out, ctx := w.Fd(), context.Background()
	pid, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	if errno != 0 {
		t.Skipf("this system does not let a process be copied: %v", errno)
	}
	if pid == 0 { // the copy has this goroutine's thread alone: nothing may wait or allocate
		_, _ = s.Fill(ctx, there[:])
		_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, out, uintptr(unsafe.Pointer(&there)), unsafe.Sizeof(there))
		_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	_, err = s.Fill(ctx, here[:])
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&there)), unsafe.Sizeof(there))
	_ = r.SetReadDeadline(time.Now().Add(10 * time.Second)) // a copy that hangs is killed
	_, _ = r.Read(buf)
	_ = syscall.Kill(int(pid), syscall.SIGKILL)
	_, _ = syscall.Wait4(int(pid), nil, 0, nil)
	for i := range here {
		if here[i] == there[i] {
			equal++
		}
	}
	return equal
}

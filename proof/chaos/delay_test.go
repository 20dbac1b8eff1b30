//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Few kernels of small machines have netem, so the test delays packets itself: a
// packet socket at an end's port sees every frame that comes from the process, the
// filter there drops the frame, and the test sends it on to its target's port later.

// delayed is one end's line while its packets are delayed.
type delayed struct {
	socket      int
	ports       map[netip.Addr]int // interface number of each end's port
	least, most time.Duration
	stop        chan struct{}
	reading     sync.WaitGroup
	sending     sync.WaitGroup
}

const (
	// frameMax is the longest frame: segments arrive together, and unsegmented.
	frameMax = 10 + 14 + 1<<16
	// frameHeader is the kernel's header before a frame (virtio_net_hdr), which keeps
	// what it knows about checksums and segments.
	frameHeader = 10
)

// delay makes everything that an end sends arrive later, each packet by its own
// time between least and most, so that they overtake each other too.
func (n *network) delay(e *end, least, most time.Duration) (heal func() error, err error) {
	d := &delayed{ports: map[netip.Addr]int{}, least: least, most: most, stop: make(chan struct{})}
	if err := inside(n.ns, func() error { return d.open(n, e) }); err != nil {
		return nil, err
	}
	d.reading.Go(d.read)
	undrop, err := n.drop(rule{at: e, way: out, share: 1})
	return func() error {
		close(d.stop)
		d.reading.Wait()
		err := undrop()
		d.sending.Wait()
		return errors.Join(err, unix.Close(d.socket))
	}, err
}

// inside calls f in a network namespace.
func inside(ns string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer func() { _ = home.Close() }()
	there, err := os.Open(filepath.Join("/var/run/netns", ns))
	if err != nil {
		return err
	}
	defer func() { _ = there.Close() }()
	if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter %s: %w", ns, err)
	}
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		panic("chaos: cannot return to the network namespace: " + back.Error()) // all that follows would be in the wrong one
	}
	return err
}

// open opens the socket; it runs inside the bridge's namespace.
func (d *delayed) open(n *network, e *end) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range n.ends {
		port, err := net.InterfaceByName(other.port)
		if err != nil {
			return err
		}
		d.ports[other.ip] = port.Index
	}
	// A socket of one protocol would come after the filter and the bridge.
	const everything = 0x0300 // ETH_P_ALL in the network's byte order
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, everything)
	if err != nil {
		return fmt.Errorf("a packet socket: %w", err)
	}
	d.socket = socket
	return errors.Join(
		unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50_000}),
		unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: d.ports[e.ip]}))
}

// read takes frames and has each sent on in its time.
func (d *delayed) read() {
	frame := make([]byte, frameMax)
	for {
		select {
		case <-d.stop:
			return
		default:
		}
		size, from, err := unix.Recvfrom(d.socket, frame, 0)
		if err != nil {
			continue // no frame within the timeout
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || link.Pkttype == unix.PACKET_OUTGOING || size < frameHeader+34 {
			continue
		}
		plain := frame[frameHeader:size]
		target, known := d.ports[netip.AddrFrom4([4]byte(plain[30:34]))]
		if !known || plain[12] != 0x08 || plain[13] != 0x00 { // not IPv4: the filter passed it
			continue
		}
		later := append([]byte(nil), frame[:size]...)
		d.sending.Add(1)
		time.AfterFunc(d.least+rand.N(d.most-d.least), func() {
			defer d.sending.Done()
			// A frame that cannot be sent is lost, as frames are.
			_ = unix.Sendto(d.socket, later, 0, &unix.SockaddrLinklayer{Ifindex: target})
		})
	}
}

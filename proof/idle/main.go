//go:build linux

// Command idle measures the cost of a grid without holders. It starts three agents, waits
// until they are settled, and counts for a while their processor time, their wake-ups, and
// the packets between them:
//
//	make proof-idle
//
// Packets are read off the loopback interface, which needs root on Linux. Bytes are those of
// the streams and datagrams, without headers. It fails if a bound is broken.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	agentPath = flag.String("agent", "./snowgrid", "the agent to start")
	during    = flag.Duration("for", 30*time.Second, "how long to count")
	rest      = flag.Duration("after", 10*time.Second, "pause between the start and the count")
	port      = flag.Int("port", 23_500, "the first of twelve free ports on 127.0.0.1")
	bytesMost = flag.Float64("bytes-most", 4000, "bytes a second that the agents may send; 0 = any")
	coresMost = flag.Float64("cores-most", 0.008, "processors that they may take; 0 = any")
	more      = flag.String("flags", "", "further flags of the agents, separated by spaces")
)

// patience is how long the agents may take to start.
const patience = time.Minute

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "idle")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var agents [3]*exec.Cmd
	defer func() {
		for _, a := range agents {
			if a != nil && a.Process != nil {
				_ = a.Process.Kill()
				_ = a.Wait() // its status does not matter
			}
		}
	}()
	if err := start(ctx, dir, &agents); err != nil {
		return err
	}
	time.Sleep(*rest)
	packets, err := listen(*port)
	if err != nil {
		return err
	}
	var before [len(agents)]usage
	for i, a := range agents {
		if before[i], err = usageOf(a.Process.Pid); err != nil {
			return err
		}
	}
	time.Sleep(*during)
	seconds := during.Seconds()
	var sum usage
	for i, a := range agents {
		now, err := usageOf(a.Process.Pid)
		if err != nil {
			return err
		}
		spent := usage{now.processor - before[i].processor, now.wakes - before[i].wakes}
		fmt.Printf("agent %d: %.4f cores, %.0f wake-ups/s\n", i, spent.processor.Seconds()/seconds,
			float64(spent.wakes)/seconds)
		sum.processor, sum.wakes = sum.processor+spent.processor, sum.wakes+spent.wakes
	}
	counts, err := packets.end()
	if err != nil {
		return err
	}
	var total count
	for kind, name := range kinds {
		c := counts[kind]
		fmt.Printf("%s: %.0f bytes/s in %.1f packets/s with data\n", name, float64(c.bytes)/seconds,
			float64(c.packets)/seconds)
		total.bytes, total.packets = total.bytes+c.bytes, total.packets+c.packets
	}
	fmt.Printf("RESULT idle: %.0f bytes/s, %.1f packets/s, %.4f cores, %.0f wake-ups/s\n",
		float64(total.bytes)/seconds, float64(total.packets)/seconds, sum.processor.Seconds()/seconds,
		float64(sum.wakes)/seconds)
	for i := range agents { // one that had ended would cost nothing
		if err := awaitSettled(ctx, i); err != nil {
			return err
		}
	}
	return bounded(float64(total.bytes)/seconds, sum.processor.Seconds()/seconds)
}

// bounded returns an error that names each bound that is broken.
func bounded(bytes, cores float64) (err error) {
	if bytes == 0 {
		return errors.New("idle: no packets were seen")
	}
	if *bytesMost > 0 && bytes > *bytesMost {
		err = fmt.Errorf("idle: %.0f bytes a second, at most %.0f are allowed", bytes, *bytesMost)
	}
	if *coresMost > 0 && cores > *coresMost {
		err = errors.Join(err, fmt.Errorf("idle: %.4f processors, at most %.4f are allowed", cores, *coresMost))
	}
	return err
}

// at is the address of an agent: 0 for calls, 1 for gossip, 2 for Raft.
func at(i, n int) string { return "127.0.0.1:" + strconv.Itoa(*port+4*i+n) }

// direct calls agents without the proxy of the environment.
var direct = &http.Client{Transport: &http.Transport{}}

// start starts the agents, and waits until they are settled.
func start(ctx context.Context, dir string, agents *[3]*exec.Cmd) error {
	for i := range agents {
		args := append([]string{
			"agent", "--api-addr", at(i, 0), "--gossip-addr", at(i, 1), "--raft-addr", at(i, 2),
			"--data-dir", filepath.Join(dir, strconv.Itoa(i)), "--join", strings.Join([]string{at(0, 1), at(1, 1), at(2, 1)},
				","), "--expect", "3",
		}, strings.Fields(*more)...)
		agents[i] = exec.Command(*agentPath, args...)
		agents[i].Stderr = os.Stderr
		if err := agents[i].Start(); err != nil {
			return err
		}
	}
	for i := range agents {
		if err := awaitSettled(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

func awaitSettled(ctx context.Context, agent int) error {
	url := "http://" + at(agent, 0) + "/v1/settled"
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		res, err := direct.Do(req)
		if err == nil {
			_ = res.Body.Close() // it is empty
			if res.StatusCode == http.StatusOK {
				direct.CloseIdleConnections()
				return nil
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("idle: %s is not settled within %v: %w", url, patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// usage is the processor time and the wake-ups of a process since its start.
type usage struct {
	processor time.Duration
	wakes     uint64 // times that a thread of it went to sleep
}

func usageOf(pid int) (u usage, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return u, err
	}
	for _, task := range tasks {
		stat, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			return u, err
		}
		nanos, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		if err != nil {
			return u, err
		}
		u.processor += time.Duration(nanos)
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err != nil {
			return u, err
		}
		_, after, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		wakes, err := strconv.ParseUint(strings.Fields(after)[0], 10, 64)
		if err != nil {
			return u, err
		}
		u.wakes += wakes
	}
	return u, nil
}

// kinds are the ports of an agent, in order.
var kinds = []string{"calls", "gossip", "Raft"}

// count is of packets with data.
type count struct{ bytes, packets int }

// capture counts the packets between the agents.
type capture struct {
	fd   int
	done chan struct{}
	of   [3]count // by kind; read after done is closed
	err  error
}

// listen begins to count.
func listen(first int) (*capture, error) {
	const everything = 0x0300 // ETH_P_ALL in the network's order
	fd, err := syscall.Socket(syscall.AF_PACKET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, everything)
	if err != nil {
		return nil, fmt.Errorf("idle: reading packets needs root: %w", err)
	}
	if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO,
		&syscall.Timeval{Usec: 100_000}); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	c := &capture{fd: fd, done: make(chan struct{})}
	ended := time.Now().Add(*during)
	go func() {
		defer close(c.done)
		packet := make([]byte, 1<<16)
		for time.Now().Before(ended) {
			n, from, err := syscall.Recvfrom(fd, packet, 0)
			if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
				continue
			}
			if err != nil {
				c.err = err
				return
			}
			// each is seen twice
			if link, ok := from.(*syscall.SockaddrLinklayer); ok && link.Pkttype == syscall.PACKET_OUTGOING {
				continue
			}
			c.note(packet[:n], first)
		}
	}()
	return c, nil
}

// note counts one packet, if it is between agents.
func (c *capture) note(p []byte, first int) {
	const tcp, udp = 6, 17
	if len(p) < 20 || p[0]>>4 != 4 {
		return
	}
	header := int(p[0]&15) * 4
	length := min(int(p[2])<<8|int(p[3]), len(p))
	if length < header+20 && p[9] == tcp || length < header+8 {
		return
	}
	ports := []int{int(p[header])<<8 | int(p[header+1]), int(p[header+2])<<8 | int(p[header+3])}
	at := slices.IndexFunc(ports, func(port int) bool {
		return port >= first && port < first+12 &&
			(port-first)%4 < len(kinds)
	})
	if at < 0 {
		return
	}
	data := length - header - 8
	if p[9] == tcp {
		data = length - header - int(p[header+12]>>4)*4
	} else if p[9] != udp {
		return
	}
	if data > 0 {
		kind := &c.of[(ports[at]-first)%4]
		kind.bytes, kind.packets = kind.bytes+data, kind.packets+1
	}
}

// end returns the counts when the time is over.
func (c *capture) end() ([3]count, error) {
	<-c.done
	return c.of, errors.Join(c.err, syscall.Close(c.fd))
}

package store_test

import (
	"context"
	"errors"
	"fmt"
	"github.com/snowgrid/snowgrid/internal/long"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
	"github.com/snowgrid/snowgrid/client/store/storetest"
	"github.com/snowgrid/snowgrid/internal/record"
	"github.com/snowgrid/snowgrid/sequencer"
)

var bubbleAhead = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC).Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))

// fleet is some clients of one store, each behind faults of its own and with a clock of
// its own, and every ID that they issued.
type fleet struct {
	*testing.T
	under  *store.Memory
	rand   *rand.Rand
	window time.Duration

	mu      sync.Mutex
	issued  map[sequencer.ID]string
	lost    int
	created int
}

// process is one client with its faults and the loop that uses it.
type process struct {
	*fleet
	name   string
	faulty *storetest.Faulty
	client *store.Client
	paused chan time.Duration
	done   chan struct{}
	stop   context.CancelFunc
}

// start starts a process whose clock is ahead by a duration. nil: it found no store in
// time.
func (f *fleet) start(ahead time.Duration) *process {
	f.created++
	p := &process{fleet: f, name: fmt.Sprint("p", f.created), faulty: storetest.NewFaulty(f.under, f.rand.Uint64()),
		done: make(chan struct{}), paused: make(chan time.Duration, 1)}
	cfg := store.Config{
		Window: f.window, Pool: 3, Task: "one-task", // all have one: the task does not identify
		Clock:  func() time.Time { return time.Now().Add(bubbleAhead + ahead) },
		OnLost: func(store.Loss) { f.mu.Lock(); f.lost++; f.mu.Unlock() },
	}
	ctx, stop := context.WithCancel(f.Context())
	p.stop = stop
	var err error
	if p.client, err = store.OpenExact(ctx, p.faulty, cfg); err != nil {
		f.Fatal(err)
	}
	go p.use(ctx)
	return p
}

// use issues IDs, from time to time after a pause in which nothing of the process runs that
// asks for one.
func (p *process) use(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, 2*p.window)
		s, err := p.client.CreateSequencer(call, "orders", sequencer.Config{})
		cancel()
		if err != nil {
			if errors.Is(err, sequencer.ErrInvalidConfig) || errors.Is(err, sequencer.ErrConflict) {
				p.Error(err)
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for ctx.Err() == nil && s.State() != sequencer.Destroyed {
			call, cancel := context.WithTimeout(ctx, p.window)
			id, err := s.Next(call)
			cancel()
			if err == nil {
				p.note(id)
			}
			select {
			case d := <-p.paused:
				time.Sleep(d)
			case <-time.After(7 * time.Millisecond):
			}
		}
	}
}

func (p *process) note(id sequencer.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if by, twice := p.issued[id]; twice {
		p.Errorf("ID %d was issued by %s and %s", id, by, p.name)
	}
	p.issued[id] = p.name
}

// pause stops the process for a time: no call of it begins or returns.
func (p *process) pause(d time.Duration) {
	p.faulty.Freeze()
	select {
	case p.paused <- d:
	default:
	}
	time.Sleep(d)
	p.faulty.Thaw()
}

// crash ends the process without a word.
func (p *process) crash() {
	p.stop()
	<-p.done
	_ = p.client.Close()
	p.faulty.Deliver(p.Context())
}

// damage deletes or overwrites a record, as no client does.
func (f *fleet) damage() {
	key := record.KeysOf("", "orders").Record(sequencer.NodeID(f.rand.IntN(3)))
	if f.rand.IntN(2) == 0 {
		_ = f.under.Delete(f.Context(), key)
		return
	}
	if e, err := f.under.Load(f.Context(), key); err == nil {
		e.Body = e.Body[:len(e.Body)/2]
		_, _ = f.under.Swap(f.Context(), e)
	}
}

// repair repairs damaged records, with a floor that every clock's grants are below.
func (f *fleet) repair(c *store.Client) {
	ctx, cancel := context.WithTimeout(f.Context(), f.window)
	defer cancel()
	s, err := c.Status(ctx, "orders")
	if err != nil {
		return
	}
	for _, r := range s.Records {
		if errors.Is(r.Err, store.ErrDamaged) {
			_ = c.Repair(ctx, "orders", r.Node, time.Now().Add(bubbleAhead+2*f.window+2*time.Second))
		}
	}
}

// TestNoEqualIDsUnderFaults: requests and answers are lost, late and doubled, processes
// pause and crash, clocks differ, records are damaged and repaired, retired and restored,
// and sequencers destroyed: no two IDs are equal, and IDs are issued all the time.
func TestNoEqualIDsUnderFaults(t *testing.T) {
	long.NotShort(t, "it takes a second and more")
	for seed := range uint64(24) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runFaults(t, seed) })
		})
	}
}

func runFaults(t *testing.T, seed uint64) {
	f := &fleet{T: t, under: store.NewMemory(), rand: rand.New(rand.NewPCG(seed, 7)), window: 1500 * time.Millisecond,
		issued: map[sequencer.ID]string{}}
	var running []*process
	start := func() {
		running = append(running, f.start(time.Duration(f.rand.IntN(4000)-2000)*time.Millisecond))
	}
	start()
	start()
	operator := f.start(0)
	defer operator.crash()
	var pauses sync.WaitGroup
	for range 150 {
		i := f.rand.IntN(len(running))
		switch p := running[i]; f.rand.IntN(14) {
		case 0:
			pauses.Go(func() { p.pause(3 * f.window) })
		case 1:
			if f.rand.IntN(2) == 0 {
				p.stop()
				<-p.done
				_ = p.client.Leave(f.within(f.window))
			}
			p.crash()
			running[i] = running[len(running)-1]
			running = running[:len(running)-1]
			start()
		case 2:
			if len(running) < 4 {
				start()
			}
		case 3:
			f.damage()
		case 4:
			f.repair(operator.client)
		case 5:
			_ = operator.client.Scale(f.within(f.window), "orders", 1+f.rand.IntN(4))
		case 6:
			if f.rand.IntN(3) == 0 {
				_ = operator.client.DestroySequencer(f.within(f.window), "orders")
			}
		case 7:
			p.faulty.Set(storetest.Faults{Down: true})
		default:
			p.faulty.Set(storetest.Faults{LoseRequest: 0.1, LoseAnswer: 0.2, Late: 0.1, Repeat: 0.1,
				Delay: 50 * time.Millisecond})
		}
		time.Sleep(time.Duration(f.rand.IntN(800)) * time.Millisecond)
	}
	pauses.Wait()
	for _, p := range running {
		p.crash()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Logf("%d IDs of %d processes, %d losses", len(f.issued), f.created, f.lost)
	if len(f.issued) < 1000 || f.lost == 0 {
		t.Errorf("only %d IDs, and %d losses", len(f.issued), f.lost)
	}
}

func (f *fleet) within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(f.Context(), d)
	f.Cleanup(cancel)
	return ctx
}

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowgrid/snowgrid/client/store"
)

// oddNames are names of sequencers with keys that a store may confuse: they differ in case, in
// escapes, in the form of one letter, or have characters with a meaning in a query language, a file
// system or a URL.
var oddNames = []string{
	"orders", "Orders", "orders.json", "orders 1", "a/b", "a%2Fb", "a%252Fb", "a_b", "aXb", "a%b", "a*b", "a?b", "a[b]",
	"a\\b", "a'b", "a\"b", "a;b", "a,b", "a:b", "a@b", "a&b=c", "a+b", "$a", "~a", "-", "#", "{a}", "<a>", "a\tb",
	"é", "e\u0301", "日本語", "🦋", "con", "nul.txt", ".hidden", "a..b",
}

// oddKeys: keys are compared byte by byte.
func oddKeys(b *bench) {
	var written []store.Entry
	names := append(slices.Clone(oddNames), strings.Repeat("long", 50)) // 200 bytes
	for _, name := range names {
		written = append(written, b.create(b.key(url.PathEscape(name)+"/0.json"), "body of "+name))
	}
	longest := b.folder // 1,000 bytes
	for n := 0; len(longest) < 1000; n++ {
		longest += fmt.Sprintf("%099d/", n)
	}
	written = append(written, b.create(longest[:998]+"/a", "a"), b.create(longest[:998]+"/b", "b"))
	for _, e := range written {
		b.want(b.other, e)
	}
	found, err := b.store.List(b.ctx, b.folder)
	if err != nil {
		b.Fatal(err)
	}
	have := keysOf(found)
	for _, e := range written {
		if !slices.Contains(have, e.Key) {
			b.Errorf("the list has no key %.100q", e.Key)
		}
	}
	if len(found) != len(written)+1 {
		b.Errorf("the list has %d keys of %d: %.3000q", len(found), len(written)+1, have)
	}
}

func emptyKey(b *bench) {
	if _, err := b.store.Load(b.ctx, ""); err == nil {
		b.Error("load of an empty key succeeded")
	}
	if _, err := b.store.Swap(b.ctx, store.Entry{Body: []byte("x")}); err == nil {
		b.Error("swap of an empty key succeeded")
	}
}

// bodies: a body comes back byte by byte, is not shared with the caller, and may have
// 64 KiB.
func bodies(b *bench) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, body := range map[string][]byte{
		"small":   []byte("0"),
		"space":   []byte(" \r\n{} \n"),
		"json":    []byte(`{"b":"<ü>\u2028","a":1.0,"a":2}`),
		"binary":  every,
		"largest": bytes.Repeat(every, 256),
	} {
		e := store.Entry{Key: b.key(name), Body: slices.Clone(body)}
		e = b.swap(e)
		e.Body[0]++ // The store has copied it.
		e.Body = body
		b.want(b.store, e)
		if have, err := b.store.Load(b.ctx, e.Key); err == nil && len(have.Body) > 0 {
			have.Body[0]++
		}
		b.want(b.other, e)
	}
}

// meta: a store returns Meta as it was written.
func meta(b *bench) {
	e := store.Entry{Key: b.key("k"), Meta: map[string]string{"taskid": "web-7", "version": "7", "acquirable": "true"}}
	for _, task := range []string{"web-7", "web-8"} {
		e.Meta = maps.Clone(e.Meta)
		e.Meta["taskid"] = task
		e.Body = []byte(task) // The revision of a store may be a digest of the body.
		e = b.swap(e)
		have, err := b.store.Load(b.ctx, e.Key)
		if err != nil {
			b.Fatal(err)
		}
		if len(have.Meta) > 0 && !maps.Equal(have.Meta, e.Meta) {
			b.Errorf("meta is %v, %v was written", have.Meta, e.Meta)
		}
	}
}

// listPrefix: a list has the keys that begin with the prefix, in order, and no others.
func listPrefix(b *bench) {
	for _, name := range []string{"b/1", "b/10", "b/2", "bb", "b_/x", "bX/x", "b%/x", "B/1", "a/b/1", "b/c/d/e"} {
		b.create(b.key(name), "body of "+b.key(name))
	}
	for prefix, want := range map[string][]string{
		"b/":     {"b/1", "b/10", "b/2", "b/c/d/e"},
		"b/1":    {"b/1", "b/10"},
		"b/10":   {"b/10"},
		"b/100":  nil,
		"b_/":    {"b_/x"},
		"b%/":    {"b%/x"},
		"B/":     {"B/1"},
		"b/c/":   {"b/c/d/e"},
		"absent": nil,
	} {
		found, err := b.other.List(b.ctx, b.key(prefix))
		if err != nil {
			b.Errorf("list of %q: %v", prefix, err)
			continue
		}
		for i := range want {
			want[i] = b.key(want[i])
		}
		if have := keysOf(found); !slices.Equal(have, want) {
			b.Errorf("list of %q: %q; %q is due", prefix, have, want)
		}
		for _, e := range found {
			if e.Body != nil && string(e.Body) != "body of "+e.Key {
				b.Errorf("list of %q: key %q has the body %q", prefix, e.Key, e.Body)
			}
			if e.Body != nil {
				b.want(b.store, e) // Body and revision are of one state.
			}
		}
	}
}

// listPages: a list is complete, also above 1,000 keys, and in order.
func listPages(b *bench) {
	const keys = 1100
	var (
		wg   sync.WaitGroup
		want []string
	)
	next := make(chan string)
	for range 8 {
		wg.Go(func() {
			for key := range next {
				if _, err := b.other.Swap(b.ctx, store.Entry{Key: key, Body: []byte("x")}); err != nil {
					b.Errorf("create of %q: %v", key, err)
				}
			}
		})
	}
	for n := range keys {
		key := b.key(fmt.Sprintf("many/%d.json", n))
		want = append(want, key)
		next <- key
	}
	close(next)
	wg.Wait()
	slices.Sort(want)
	found, err := b.store.List(b.ctx, b.key("many/"))
	if err != nil {
		b.Fatal(err)
	}
	if have := keysOf(found); !slices.Equal(have, want) {
		b.Errorf("a list of %d keys has %d, or not in ascending order", len(want), len(have))
	}
}

// endedContext: after ctx has ended there is an error that does not claim an outcome.
func endedContext(b *bench) {
	e := b.create(b.key("k"), "x")
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	swapped := e
	swapped.Body = []byte("y")
	_, loadErr := b.store.Load(ended, e.Key)
	_, absentErr := b.store.Load(ended, b.key("absent"))
	_, swapErr := b.store.Swap(ended, swapped)
	_, listErr := b.store.List(ended, b.folder)
	for call, err := range map[string]error{"load": loadErr, "load of an absent key": absentErr, "swap": swapErr,
		"list": listErr} {
		if err == nil || errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNoRecord) {
			b.Errorf("%s with a context that has ended: %v", call, err)
		}
	}
}

const watchFor = 10 * time.Second

// watch: a change is reported soon, and the channel ends with the context.
func watch(b *bench) {
	w := b.store.(store.Watcher)
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	changes, err := w.Watch(ctx, b.key("watched/"))
	if err != nil {
		b.Fatal(err)
	}
	key := b.key("watched/0.json")
	if _, err := b.other.Swap(b.ctx, store.Entry{Key: key, Body: []byte("x")}); err != nil {
		b.Fatal(err)
	}
	late := time.After(watchFor)
	for heard := false; !heard; {
		select {
		case changed, open := <-changes:
			if !open {
				b.Fatal("the watch ended by itself")
			}
			heard = changed == key
		case <-late:
			b.Fatalf("no word of a change within %v", watchFor)
		}
	}
	cancel()
	for late := time.After(watchFor); ; {
		select {
		case _, open := <-changes:
			if !open {
				return
			}
		case <-late:
			b.Fatalf("the channel is open %v after its context ended", watchFor)
		}
	}
}

// dated: the store's clock is known after a reply, and does not contradict this one.
func dated(b *bench) {
	d := b.store.(store.Dated)
	b.create(b.key("k"), "x")
	now, within, known := d.Time()
	if off := time.Since(now).Abs(); !known || within < 0 || off > within+time.Minute {
		b.Errorf("after an answer the store's time is %v within %v, known %v; it is %v", now, within, known, time.Now())
	}
}

func keysOf(entries []store.Entry) (keys []string) {
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	return keys
}

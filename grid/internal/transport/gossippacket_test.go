package transport

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

// word is a message of gossip about a node.
func word(kind byte, fields map[string]any) []byte {
	data, err := msgpack.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return append([]byte{kind}, data...)
}

func numbered(kind byte, n uint64) []byte {
	return word(kind, map[string]any{"Incarnation": n, "Node": "n", "From": "f"})
}

// several puts messages into one.
func several(messages ...[]byte) []byte {
	b := []byte{gossipCompound, byte(len(messages))}
	for _, m := range messages {
		b = append(b, byte(len(m)>>8), byte(len(m)))
	}
	return append(b, slices.Concat(messages...)...)
}

// TestGossipNumbersThatAreBelieved has the limits of the numbers in datagrams, however
// they are wrapped.
func TestGossipNumbersThatAreBelieved(t *testing.T) {
	wrapped := map[string]func(b []byte) []byte{
		"plain":    func(b []byte) []byte { return b },
		"labelled": func(b []byte) []byte { return append([]byte{gossipLabel, 2, 'a', 'b'}, b...) },
		"checked":  func(b []byte) []byte { return append([]byte{gossipChecked, 0, 0, 0, 0}, b...) },
		"compound": func(b []byte) []byte { return several([]byte{0}, b) },
		"all three": func(b []byte) []byte {
			return append([]byte{gossipLabel, 1, 'a', gossipChecked, 0, 0, 0, 0}, several(b, b)...)
		},
	}
	for how, wrap := range wrapped {
		for what, c := range map[string]struct {
			message  []byte
			believed bool
		}{
			"a suspect":                  {numbered(gossipSuspect, 7), true},
			"the last suspect":           {numbered(gossipSuspect, accusedMax), true},
			"a suspect too far":          {numbered(gossipSuspect, accusedMax+1), false},
			"the last dead":              {numbered(gossipDead, accusedMax), true},
			"a dead too far":             {numbered(gossipDead, math.MaxUint32), false},
			"what refutes the last dead": {numbered(gossipAlive, accusedMax+1), true},
			"the last alive":             {numbered(gossipAlive, aliveMax), true},
			"an alive too far":           {numbered(gossipAlive, aliveMax+1), false},
			"a ping":                     {word(0, map[string]any{"SeqNo": 1}), true},
			"a list":                     {[]byte{gossipDead, 0x93, 0xce, 0xff, 0xff, 0xff, 0xff, 0xa1, 'n', 0xa1, 'f'}, false},
			"a number twice": {append([]byte{gossipDead, 0x82},
				bytes.Repeat([]byte("\xabIncarnation\xce\xff\xff\xff\xff"), 2)...), false},
			"nothing":            {[]byte{gossipDead}, false},
			"compressed":         {word(gossipCompressed, map[string]any{"Algo": 0, "Buf": []byte("?")}), false},
			"one within another": {several(several(numbered(gossipDead, math.MaxUint32))), false},
		} {
			if _, err := checkPacket(wrap(c.message)); (err == nil) != c.believed {
				t.Errorf("%s, %s: %v", how, what, err)
			}
		}
	}
}

// TestGossipNewsIsRecognized: messages about a third member are news, which is passed on.
func TestGossipNewsIsRecognized(t *testing.T) {
	ping := word(0, map[string]any{"SeqNo": 1})
	for what, c := range map[string]struct {
		packet []byte
		news   bool
	}{
		"a ping":                  {ping, false},
		"two pings":               {several(ping, ping), false},
		"a suspect":               {numbered(gossipSuspect, 7), true},
		"an alive":                {numbered(gossipAlive, 7), true},
		"a ping with a dead":      {several(ping, numbered(gossipDead, 7)), true},
		"the same with its label": {append([]byte{gossipLabel, 1, 'a'}, several(ping, numbered(gossipDead, 7))...), true},
	} {
		if news, err := checkPacket(c.packet); err != nil || news != c.news {
			t.Errorf("%s: news %v, %v", what, news, err)
		}
	}
}

// TestGossipStatesThatAreBelieved: an exchange of states is bounded in the same way.
func TestGossipStatesThatAreBelieved(t *testing.T) {
	for what, c := range map[string]struct {
		state, number uint64
		believed      bool
	}{
		"alive": {0, aliveMax, true}, "alive, too far": {0, aliveMax + 1, false},
		"suspect": {1, accusedMax, true}, "suspect, too far": {1, accusedMax + 1, false},
		"dead, too far": {2, accusedMax + 1, false}, "left, too far": {3, math.MaxUint32, false},
	} {
		head := word(gossipPushPull, map[string]any{"Nodes": 2, "UserStateLen": 0, "Join": true})
		first := word(0, map[string]any{"Name": "n", "Incarnation": 1, "State": 0})[1:]
		second := word(0, map[string]any{"Name": "m", "Incarnation": c.number, "State": c.state})[1:]
		read, err := readOpening(bytes.NewReader(slices.Concat(head, first, second)))
		if (err == nil) != c.believed {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil && !bytes.Equal(read, slices.Concat(head, first, second)) {
			t.Errorf("%s: the data read differs from the data sent", what)
		}
	}
}

package snowflake_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowgrid/snowgrid/compat/snowflake"
	"github.com/snowgrid/snowgrid/epoch"
	"github.com/snowgrid/snowgrid/idtext"
	"github.com/snowgrid/snowgrid/sequencer"
)

// texts are texts that bwmarrin/snowflake v0.3.0 writes.
var texts = []struct {
	id                                    snowflake.ID
	base2, base32, base36, base58, base64 string
	time                                  int64
	node, step                            int64
}{
	{0, "0", "y", "0", "1", "MA==", 1288834974657, 0, 0},
	{1, "1", "b", "1", "2", "MQ==", 1288834974657, 0, 1},
	{31, "11111", "9", "v", "x", "MzE=", 1288834974657, 0, 31},
	{32, "100000", "by", "w", "y", "MzI=", 1288834974657, 0, 32},
	{57, "111001", "b3", "1l", "Z", "NTc=", 1288834974657, 0, 57},
	{58, "111010", "b4", "1m", "21", "NTg=", 1288834974657, 0, 58},
	{13587, "11010100010011", "peu", "ahf", "53g", "MTM1ODc=", 1288834974657, 3, 1299},
	{1116766490855473152, "111101111111100011010011010011100000100000000000000000000000", "69hpguoeyyyy",
		"8hg4ojd30u80", "3Amry1HHf7U", "MTExNjc2NjQ5MDg1NTQ3MzE1Mg==", 1555092854595, 0, 0},
	{1116823421972381696, "111101111111110000001111110000101111100000000000000000000000", "696y9ozayyyy",
		"8hgov15o4268", "3AmTkuMywGG", "MTExNjgyMzQyMTk3MjM4MTY5Ng==", 1555106428031, 0, 0},
	{math.MaxInt64, "111111111111111111111111111111111111111111111111111111111111111", "8999999999999",
		"1y2p0ij32e8e7", "npL6MjP8Qfc", "OTIyMzM3MjAzNjg1NDc3NTgwNw==", 3487858230208, 1023, 4095},
}

func TestTexts(t *testing.T) {
	for _, c := range texts {
		got := []string{c.id.Base2(), c.id.Base32(), c.id.Base36(), c.id.Base58(), c.id.Base64(), c.id.String(),
			string(c.id.Bytes())}
		digits := strconv.FormatInt(int64(c.id), 10)
		if want := []string{c.base2, c.base32, c.base36, c.base58, c.base64, digits, digits}; !reflect.DeepEqual(got, want) {
			t.Errorf("the texts of %d are %q, want %q", c.id, got, want)
		}
		if at, n, step := c.id.Time(), c.id.Node(), c.id.Step(); at != c.time || n != c.node || step != c.step {
			t.Errorf("the parts of %d are %d, %d, %d, want %d, %d, %d", c.id, at, n, step, c.time, c.node, c.step)
		}
		readsBack(t, c.id)
	}
}

// readsBack checks each pair of a writer and a parser.
func readsBack(t *testing.T, id snowflake.ID) {
	t.Helper()
	check := func(name string, got snowflake.ID, err error) {
		t.Helper()
		if got != id || err != nil {
			t.Errorf("%s of %d is read as %d, %v", name, id, got, err)
		}
	}
	got, err := snowflake.ParseString(id.String())
	check("String", got, err)
	got, err = snowflake.ParseBase2(id.Base2())
	check("Base2", got, err)
	got, err = snowflake.ParseBase36(id.Base36())
	check("Base36", got, err)
	got, err = snowflake.ParseBase64(id.Base64())
	check("Base64", got, err)
	got, err = snowflake.ParseBytes(id.Bytes())
	check("Bytes", got, err)
	if id >= 0 {
		got, err = snowflake.ParseBase32([]byte(id.Base32()))
		check("Base32", got, err)
		got, err = snowflake.ParseBase58([]byte(id.Base58()))
		check("Base58", got, err)
	}
	check("IntBytes", snowflake.ParseIntBytes(id.IntBytes()), nil)
	check("Int64", snowflake.ParseInt64(id.Int64()), nil)
	data, err := json.Marshal(id)
	check("JSON", id, err)
	var read snowflake.ID
	err = json.Unmarshal(data, &read)
	check("JSON", read, err)
}

// TestPublishedCases are the inputs of the tests of bwmarrin/snowflake v0.3.0 that have no node.
func TestPublishedCases(t *testing.T) {
	read := func(id snowflake.ID, err error) any {
		if err != nil {
			return "error"
		}
		return int64(id)
	}
	const binary = "111101111111101110110101100101001000000000000000000000000000"
	digits, eight := []byte("1116821679570419712"), [8]byte{0x0f, 0x7f, 0xc0, 0xfc, 0x2f, 0x80}
	for name, c := range map[string]struct{ got, want any }{
		"decimal":            {read(snowflake.ParseString("1116766490855473152")), int64(1116766490855473152)},
		"decimal, large":     {read(snowflake.ParseString("1112316766490855473152")), "error"},
		"base 2":             {read(snowflake.ParseBase2(binary)), int64(1116817224745615360)},
		"base 2, not binary": {read(snowflake.ParseBase2("1112316766490855473152")), "error"},
		"base 36":            {read(snowflake.ParseBase36("8hgmw4blvlkw")), int64(1116817865006120960)},
		"base 36, large":     {read(snowflake.ParseBase36("68h5gmw443blv2lk1w")), "error"},
		"base 64":            {read(snowflake.ParseBase64("MTExNjgxOTQ5NDY2MDk5NzEyMA==")), int64(1116819494660997120)},
		"base 64, no end":    {read(snowflake.ParseBase64("MTExNjgxOTQ5NDY2MDk5NzEyMA")), "error"},
		"bytes":              {read(snowflake.ParseBytes(digits)), int64(1116821679570419712)},
		"bytes, not digits":  {read(snowflake.ParseBytes(append([]byte{0xff, 0xff, 0xff}, digits...))), "error"},
		"8 bytes":            {snowflake.ParseIntBytes(eight).Int64(), int64(1116823421972381696)},
		"into 8 bytes":       {snowflake.ID(13587).IntBytes(), [8]byte{6: 0x35, 7: 0x13}},
		"int64":              {snowflake.ParseInt64(1116766490855473152).Int64(), int64(1116766490855473152)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	if got, err := snowflake.ID(13587).MarshalJSON(); string(got) != `"13587"` || err != nil {
		t.Errorf("13587 is %s, %v", got, err)
	}
	var id snowflake.ID
	if err := id.UnmarshalJSON([]byte(`"13587"`)); id != 13587 || err != nil {
		t.Errorf(`"13587" is %d, %v`, id, err)
	}
	for _, text := range []string{`1`, `"invalid`, `null`, `""`, `"`, ``, `invalid"`} {
		err := id.UnmarshalJSON([]byte(text))
		syntax, is := errors.AsType[snowflake.JSONSyntaxError](err)
		if !is || !errors.Is(err, sequencer.ErrInvalidID) || !strings.Contains(syntax.Error(), strconv.Quote(text)) {
			t.Errorf("%s is read with %v", text, err)
		}
	}
	for _, text := range []string{`"x"`, `"1.5"`, `"9223372036854775808"`} {
		if err := id.UnmarshalJSON([]byte(text)); !errors.Is(err, sequencer.ErrInvalidID) {
			t.Errorf("%s is read with %v", text, err)
		}
	}
	if id != 13587 {
		t.Errorf("an error left %d", id)
	}
	reused := []byte(`123`)
	err := id.UnmarshalJSON(reused)
	copy(reused, "999")
	if !strings.Contains(err.Error(), "123") {
		t.Errorf("the error has the caller's bytes: %v", err)
	}
}

func TestBadTextsAreRefused(t *testing.T) {
	huge := strings.Repeat("9", 1<<20)
	refused := func(name string, want snowflake.ID, causes []error, read func(string) (snowflake.ID, error),
		bad ...string) {
		t.Helper()
		for _, text := range append(bad, huge) {
			id, err := read(text)
			if id != want || !errors.Is(err, sequencer.ErrInvalidID) || len(err.Error()) > 600 {
				t.Errorf("%s: %.20q is read as %d, %v", name, text, id, err)
			}
			matched := len(causes) == 0
			for _, cause := range causes {
				matched = matched || errors.Is(err, cause)
			}
			if !matched {
				t.Errorf("%s: %.20q: %v has no known cause", name, text, err)
			}
		}
	}
	number := []error{strconv.ErrSyntax, strconv.ErrRange}
	refused("String", 0, number, snowflake.ParseString, "", "x", " 1", "1_0", "0x1", "9223372036854775808")
	refused("Bytes", 0, number, func(s string) (snowflake.ID, error) { return snowflake.ParseBytes([]byte(s)) }, "", "1.5")
	refused("Base2", 0, number, snowflake.ParseBase2, "", "2", strings.Repeat("1", 64))
	refused("Base36", 0, number, snowflake.ParseBase36, "", "-", "é", "1y2p0ij32e8e8")
	refused("Base64", -1, nil, snowflake.ParseBase64, "", "MA", "eA==", "OTIyMzM3MjAzNjg1NDc3NTgwOA==")
	exact := func(read func([]byte) (snowflake.ID, error), want error) func(string) (snowflake.ID, error) {
		return func(s string) (snowflake.ID, error) {
			id, err := read([]byte(s))
			if err != want { //nolint:errorlint // programs compare it so
				t.Errorf("%.20q: %v is not the variable", s, err)
			}
			return id, err
		}
	}
	refused("Base32", -1, nil, exact(snowflake.ParseBase32, snowflake.ErrInvalidBase32),
		"", "l", "v", "0", "2", "Y", "-b", "\xff", "by ", "byyyyyyyyyyyyy", "eyyyyyyyyyyyy", "9999999999999")
	refused("Base58", -1, nil, exact(snowflake.ParseBase58, snowflake.ErrInvalidBase58),
		"", "0", "I", "O", "l", "-2", "\xff", "npL6MjP8Qfd", "211111111111", "ZZZZZZZZZZZ")
	// Programs of bwmarrin/snowflake have the type of strconv.
	_, err := snowflake.ParseString(huge)
	if n, is := errors.AsType[*strconv.NumError](err); !is || n.Func != "ParseInt" || len(n.Num) > 200 {
		t.Errorf("%v has no *strconv.NumError, or a long one", err)
	}
}

func TestNegativeNumbersHaveTexts(t *testing.T) {
	for id, want := range map[snowflake.ID][2]string{
		-1: {"-b", "-2"}, -32: {"-by", "-y"}, math.MinInt64: {"-eyyyyyyyyyyyy", "-npL6MjP8Qfd"},
	} {
		if got := [2]string{id.Base32(), id.Base58()}; got != want {
			t.Errorf("%d is %q, want %q", id, got, want)
		}
		readsBack(t, id)
	}
}

// TestPublishedID: an ID of 2019 has one time, and both texts in Base32.
func TestPublishedID(t *testing.T) {
	const id = snowflake.ID(1116766490855473152)
	d, err := sequencer.Define("tweets", twitter)
	if err != nil {
		t.Fatal(err)
	}
	want := sequencer.Parts{Time: time.Date(2019, time.April, 12, 18, 14, 14, 595_000_000, time.UTC)}
	if got := d.Decompose(sequencer.ID(id)); got != want {
		t.Errorf("the parts are %v, want %v", got, want)
	}
	if at := time.UnixMilli(id.Time()).UTC(); at != want.Time || id.Node() != 0 || id.Step() != 0 {
		t.Errorf("the parts are %v, %d, %d", at, id.Node(), id.Step())
	}
	if got := idtext.Base32(sequencer.ID(id)); got != "0yzwd6kg80000" {
		t.Errorf("snowgrid's Base32 is %s", got)
	}
}

func TestConstantsAreTwitters(t *testing.T) {
	l := sequencer.Twitter()
	if epoch.UnixMilli(snowflake.Epoch) != epoch.Twitter || l.LowBits != int(snowflake.NodeBits+snowflake.StepBits) ||
		l.Nodes != 1<<snowflake.NodeBits {
		t.Error("the constants differ from sequencer.Twitter")
	}
}

// FuzzParse: each text of a number is read back, and a text that a parser reads without leading zeros or a sign is the
// text of that number.
func FuzzParse(f *testing.F) {
	f.Add(int64(13587), "peu")
	f.Add(int64(-1), "npL6MjP8Qfc")
	f.Fuzz(func(t *testing.T, number int64, text string) {
		readsBack(t, snowflake.ID(number))
		if id, err := snowflake.ParseBase32([]byte(text)); err == nil {
			if want := strings.TrimLeft(text[:len(text)-1], "y") + text[len(text)-1:]; id.Base32() != want || id < 0 {
				t.Errorf("%q is %d in Base32, %q", text, id, id.Base32())
			}
		}
		if id, err := snowflake.ParseBase58([]byte(text)); err == nil {
			if want := strings.TrimLeft(text[:len(text)-1], "1") + text[len(text)-1:]; id.Base58() != want || id < 0 {
				t.Errorf("%q is %d in Base58, %q", text, id, id.Base58())
			}
		}
	})
}

package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"reflect"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/snowgrid/snowgrid/internal/failure"
)

// ContentType returns MsgPack or JSON for a Content-Type header's value. There is no
// default: a web page can have a browser send a body without a type, or as text or a
// form, to any address without asking it first. Errors match ErrContentType.
func ContentType(header string) (string, error) {
	if kind, _, err := mime.ParseMediaType(header); err == nil && (kind == MsgPack || kind == JSON) {
		return kind, nil
	}
	fault := fmt.Sprintf("Content-Type %.100q: not understood", header)
	if header == "" {
		fault = "Content-Type: missing"
	}
	return "", failure.Errorf(ErrContentType, "grid: %s; send the header \"Content-Type: %s\" with a body in JSON, as "+
		"curl --json does, or %s", fault, JSON, MsgPack)
}

// usualSize is the initial buffer size in bytes for a message: most fit into it.
const usualSize = 448

// Encode returns v in the encoding that kind names.
func Encode(kind string, v any) ([]byte, error) {
	if kind == JSON {
		return json.Marshal(v)
	}
	return AppendMsgPack(nil, v)
}

// AppendMsgPack appends v in msgpack. A [Listing] is appended in less time.
func AppendMsgPack(b []byte, v any) ([]byte, error) {
	if b == nil {
		b = make([]byte, 0, usualSize)
	}
	switch m := v.(type) { // a client's requests are values
	case AttachRequest:
		v = &m
	case DetachRequest:
		v = &m
	}
	if m, ok := v.(Listing); ok {
		if out, ok := appendListing(b, m); ok {
			return out, nil
		}
	}
	return appendByReflection(b, v)
}

func appendByReflection(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(buf)
	enc.SetCustomStructTag("json")
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("wire: encode %T: %w", v, err)
	}
	return buf.Bytes(), nil
}

// There are three ways to decode a value. All refuse numbers outside their field's range, lists of
// more than MaxElements, and trailing data, with errors that match ErrBadRequest. They differ in
// unknown fields:
//
//	Decode          refuses them: commands in the roster's log and snapshots, which
//	                every member has to interpret in the same way
//	DecodeRequest   refuses them in JSON, which is often written by hand, where an
//	                unknown field is a typo; ignores them in msgpack
//	DecodeTolerant  ignores them: replies, calls between members, gossip, events

// Decode reads exactly one value and refuses unknown fields.
func Decode(kind string, data []byte, v any) error { return decodeAs(kind, data, v, true) }

// DecodeRequest reads a request. Unknown fields are refused in JSON and ignored in
// msgpack, so that a later version of a client or member can add one.
func DecodeRequest(kind string, data []byte, v any) error {
	return decodeAs(kind, data, v, kind == JSON)
}

// DecodeTolerant reads exactly one value and ignores unknown fields.
func DecodeTolerant(kind string, data []byte, v any) error { return decodeAs(kind, data, v, false) }

func decodeAs(kind string, data []byte, v any, strict bool) error {
	decode := decodeMsgPack
	if kind == JSON {
		decode = decodeJSON
	}
	err := decode(data, v, strict)
	if err == nil || errors.Is(err, ErrBadRequest) {
		return err
	}
	return failure.Errorf(ErrBadRequest, "the body is not a valid %s message: %.200s", kind, err.Error())
}

var errTrailing = errors.New("there is data after the value")

func decodeJSON(data []byte, v any, strict bool) error {
	if !utf8.Valid(data) {
		return errors.New("the text is not UTF-8")
	}
	if err := checkJSON(data); err != nil {
		return err
	}
	switch v.(type) {
	case *IDsRequest, *GrantRequest:
		var err error
		if data, err = withLayout(data); err != nil {
			return err
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if errors.Is(err, ErrBadRequest) {
			return err
		}
		return jsonFault(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return checkNodes(data, v)
}

func decodeMsgPack(data []byte, v any, strict bool) error {
	if m, ok := v.(Listing); ok && readListing(data, m) {
		return nil
	}
	return decodeByReflection(data, v, strict)
}

func decodeByReflection(data []byte, v any, strict bool) error {
	if err := checkMsgPack(data, reflect.TypeOf(v)); err != nil {
		return err
	}
	r := bytes.NewReader(data)
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(r)
	dec.SetCustomStructTag("json")
	dec.DisallowUnknownFields(strict)
	if err := dec.Decode(v); err != nil {
		return err
	}
	if r.Len() > 0 {
		return errTrailing
	}
	return nil
}

// ReadBody reads at most MaxBody bytes; a longer body is an error.
func ReadBody(r io.Reader) ([]byte, error) { return ReadBodyOf(r, 0) }

// ReadBodyOf is ReadBody for a body with a stated length. It allocates the memory at once, where a
// growing buffer allocates several times as much. A length of 0 or less means that it is not
// stated.
func ReadBodyOf(r io.Reader, length int64) ([]byte, error) {
	var data bytes.Buffer
	if length > 0 && length <= MaxBody {
		data.Grow(int(length) + bytes.MinRead)
	}
	if _, err := data.ReadFrom(io.LimitReader(r, MaxBody+1)); err != nil {
		return nil, failure.Errorf(ErrBadRequest, "the body ended early: %w", err)
	}
	if err := CheckLength(int64(data.Len())); err != nil {
		return nil, err
	}
	return data.Bytes(), nil
}

// CheckLength refuses a body that is longer than MaxBody bytes.
func CheckLength(length int64) error {
	if length > MaxBody {
		return failure.Errorf(ErrBadRequest, "the body is larger than %d bytes; send less in one call", MaxBody)
	}
	return nil
}

// WriteEvent writes one event, with its length before it.
func WriteEvent(w io.Writer, e Event) error {
	data, err := Encode(MsgPack, e)
	if err != nil {
		return err
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...))
	return err
}

// CutEvent takes the first event written by WriteEvent from data, and returns the rest. whole is
// false if the event is not complete yet.
func CutEvent(data []byte) (e Event, rest []byte, whole bool, err error) {
	if len(data) < 4 {
		return e, data, false, nil
	}
	n := binary.BigEndian.Uint32(data)
	if n > maxEvent {
		return e, data, false, fmt.Errorf("wire: an event of %d bytes is over the limit of %d", n, maxEvent)
	}
	if len(data)-4 < int(n) {
		return e, data, false, nil
	}
	err = DecodeTolerant(MsgPack, data[4:4+n], &e)
	return e, data[4+n:], err == nil, err
}

// ReadEvent reads an event written by WriteEvent.
func ReadEvent(r io.Reader) (Event, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Event{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxEvent {
		return Event{}, fmt.Errorf("wire: an event of %d bytes is over the limit of %d", n, maxEvent)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(r, data); err != nil {
		return Event{}, fmt.Errorf("wire: the stream broke inside an event: %w", err)
	}
	var e Event
	err := DecodeTolerant(MsgPack, data, &e)
	return e, err
}

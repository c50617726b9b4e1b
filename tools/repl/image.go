package repl

import (
	"bytes"
	"compress/flate"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
)

// pageBytes is the unit in which a memory grows.
const pageBytes = 1 << 16

// image is the memory of an engine between two cells, as the session's state
// holds it.
type image struct {
	// Engine names what made it. Another engine could not go on with it.
	Engine string `json:"engine"`
	// Pages is the size of the memory.
	Pages uint32 `json:"pages"`
	// Diff is the memory, each byte xor that of a fresh one, without the zeros at
	// the end, compressed by flate.
	Diff []byte `json:"diff"`
}

// errDamaged tells of a state that this package has not written.
var errDamaged = errors.New("the state is no image of a memory")

// pack makes an image of a memory, which it changes.
func pack(engine string, memory, fresh []byte) (json.RawMessage, error) {
	pages := uint32(len(memory) / pageBytes)
	subtle.XORBytes(memory, memory, fresh)
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(bytes.TrimRight(memory, "\x00")); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return json.Marshal(image{Engine: engine, Pages: pages, Diff: b.Bytes()})
}

// unpack reads an image.
func unpack(state json.RawMessage) (image, error) {
	var i image
	if err := json.Unmarshal(state, &i); err != nil || i.Engine == "" {
		return image{}, errDamaged
	}
	return i, nil
}

// into lays an image over the memory of an engine that has run nothing.
func (i image) into(memory []byte) error {
	r := flate.NewReader(bytes.NewReader(i.Diff))
	chunk := make([]byte, pageBytes)
	for at := 0; ; {
		n, err := io.ReadFull(r, chunk)
		if n > len(memory)-at {
			return errDamaged
		}
		subtle.XORBytes(memory[at:], memory[at:at+n], chunk[:n])
		at += n
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF) && n > 0 && n < len(chunk):
			return drained(r)
		default:
			return errDamaged
		}
	}
}

// drained tells the end of a stream from its breaking off.
func drained(r io.Reader) error {
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		return errDamaged
	}
	return nil
}

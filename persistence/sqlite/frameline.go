package sqlite

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strconv"

	"agenthost/sessions"
)

// frameLine is a frame as a line of a file: checksum of the rest in 8 hex
// digits, seq, milliseconds, type, seq of the message it is about, body, parted
// by spaces. A body is JSON without a line feed, so a line feed is the end of a
// frame and of nothing else: a file can be entered anywhere, and what was cut
// short does not take what follows with it.
type frameLine struct {
	seq        int64
	at         sessions.Time
	kind       sessions.FrameType
	messageSeq int64
	body       []byte
}

const crcDigits = 8

func appendLine(dst []byte, seq int64, at sessions.Time, f frameRow) []byte {
	start := len(dst)
	dst = append(dst, "00000000 "...)
	dst = append(strconv.AppendInt(dst, seq, 10), ' ')
	dst = append(strconv.AppendInt(dst, int64(at), 10), ' ')
	dst = append(append(dst, f.kind...), ' ')
	dst = append(strconv.AppendInt(dst, f.messageSeq, 10), ' ')
	dst = append(dst, f.body.json...)
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(dst[start+crcDigits:], castagnoli))
	hex.Encode(dst[start:start+crcDigits], sum[:])
	return append(dst, '\n')
}

// parseLine reads a line without its line feed. It reports false for whatever
// appendLine has not written.
func parseLine(line []byte) (frameLine, bool) {
	var f frameLine
	var sum [4]byte
	if len(line) < crcDigits {
		return f, false
	}
	if _, err := hex.Decode(sum[:], line[:crcDigits]); err != nil {
		return f, false
	}
	rest := line[crcDigits:]
	if crc32.Checksum(rest, castagnoli) != binary.BigEndian.Uint32(sum[:]) {
		return f, false
	}
	fields := bytes.SplitN(rest, []byte{' '}, 6) // the first is empty
	if len(fields) != 6 {
		return f, false
	}
	seq, err1 := strconv.ParseInt(string(fields[1]), 10, 64)
	at, err2 := strconv.ParseInt(string(fields[2]), 10, 64)
	messageSeq, err3 := strconv.ParseInt(string(fields[4]), 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return f, false
	}
	return frameLine{seq, sessions.Time(at), sessions.FrameType(fields[3]), messageSeq, fields[5]}, true
}

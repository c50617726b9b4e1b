package sqlite

import "agenthost/sessions"

// frameRow is a frame on its way into the store. A frame about a message that
// is stored beside it names the message instead of repeating it.
type frameRow struct {
	kind       sessions.FrameType
	messageSeq int64
	body       body
}

var emptyBody = sealed(nil)

// encodeFrame prepares a frame that carries its own body.
func encodeFrame(b sessions.FrameBody) (frameRow, error) {
	kind := sessions.Frame{Body: b}.Type()
	data, err := encode(b)
	if err != nil {
		return frameRow{}, err
	}
	if string(data) == "{}" {
		return frameRow{kind: kind, body: emptyBody}, nil
	}
	return frameRow{kind: kind, body: sealed(data)}, nil
}

// decodeFrame opens what encodeFrame sealed, once it is known to be intact.
func decodeFrame(kind sessions.FrameType, data []byte) (sessions.FrameBody, error) {
	body, err := sessions.DecodeFrameBody(kind, data)
	if err != nil {
		return nil, errDamaged.Because(err)
	}
	return body, nil
}

// numbered returns frames as they are stored, with seqs from first on.
func numbered(life sessions.Incarnation, turn sessions.Turn, first int64, at sessions.Time, bodies []sessions.FrameBody) []sessions.Frame {
	frames := make([]sessions.Frame, len(bodies))
	for i, b := range bodies {
		seq := first + int64(i)
		frames[i] = sessions.Frame{Seq: seq, Cursor: sessions.CursorAt(life, seq), TurnID: turn.TurnID,
			RequestID: turn.RequestID, At: at, Body: b}
	}
	return frames
}

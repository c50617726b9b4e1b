package main

import (
	"cmp"
	"fmt"
	"strings"

	"agenthost/sessions"
)

// framePrinter shows a turn as it comes: the model's text on stdout, and what
// the tools do on stderr.
type framePrinter struct {
	app  *app
	safe func(string) string // what becomes of text for stdout

	step, attempt int
	printed       int64 // bytes of the step's text
	midLine       bool
	seen          int64           // the last numbered frame
	cursor        sessions.Cursor // the position after it
}

func (a *app) newFramePrinter() *framePrinter {
	p := &framePrinter{app: a, safe: func(text string) string { return text }}
	if isTerminal(a.stdout) {
		p.safe = printable
	}
	return p
}

// print shows one frame, unless it was shown before.
func (p *framePrinter) print(f sessions.Frame) error {
	if f.Seq > 0 {
		if f.Seq <= p.seen {
			return nil
		}
		p.seen, p.cursor = f.Seq, f.Cursor
	}
	switch body := f.Body.(type) {
	case sessions.Delta:
		return p.text(sessions.TextPart(body))
	case sessions.TextPart:
		return p.text(body)
	case sessions.CallStarted:
		return p.note("→ " + body.Call.Path + " " + string(body.Call.Args))
	case sessions.CallEnded:
		return p.note("← " + outcome(body) + fmt.Sprintf(" (%d ms)", body.DurationMs))
	case sessions.Waiting:
		for _, call := range body.Pending {
			if err := p.noteWhole(waitsFor(call)); err != nil {
				return err
			}
		}
	case sessions.Answered:
		return p.note("(call " + string(body.CallID) + " is answered)")
	case sessions.Summarised:
		return p.note(fmt.Sprintf("(the conversation up to #%d is summarised for the model)", body.ThroughSeq))
	}
	return nil
}

// after is the position after the last frame that was shown.
func (p *framePrinter) after() sessions.Cursor { return cmp.Or(p.cursor, "0") }

// text shows what is new of a part. A part may come twice, streamed and kept.
func (p *framePrinter) text(part sessions.TextPart) error {
	if part.Step != p.step || part.Attempt != p.attempt {
		again := part.Step == p.step
		if err := p.endLine(); err != nil {
			return err
		}
		p.step, p.attempt, p.printed = part.Step, part.Attempt, 0
		if again {
			p.app.complain("%s", p.app.dim(p.app.stderr, "(the answer begins again)"))
		}
	}
	end := part.Offset + int64(len(part.Text))
	if end <= p.printed {
		return nil
	}
	text := part.Text[max(0, p.printed-part.Offset):]
	p.printed = end
	return p.write(text)
}

func (p *framePrinter) write(text string) error {
	if text == "" {
		return nil
	}
	p.midLine = !strings.HasSuffix(text, "\n")
	_, err := fmt.Fprint(p.app.stdout, p.safe(text))
	return err
}

// endLine makes what follows begin on a line of its own.
func (p *framePrinter) endLine() error {
	if !p.midLine {
		return nil
	}
	return p.write("\n")
}

// note shows a line beside the text.
func (p *framePrinter) note(line string) error {
	return p.noteWhole(oneLine(line, tableWidth))
}

// noteWhole shows a line beside the text in its whole length.
func (p *framePrinter) noteWhole(line string) error {
	if err := p.endLine(); err != nil {
		return err
	}
	p.app.complain("%s", p.app.dim(p.app.stderr, oneLine(line, len(line))))
	return nil
}

// waitsFor says what a call waits for.
func waitsFor(p sessions.Pending) string {
	what := "the client's answer"
	if p.Kind == sessions.PendingApproval {
		what = "approval"
	}
	return fmt.Sprintf("… %s waits for %s: call %s", p.Path, what, p.CallID)
}

func outcome(ended sessions.CallEnded) string {
	if ended.Error != nil {
		return string(ended.Error.Code) + ": " + ended.Error.Message
	}
	return string(ended.Output)
}

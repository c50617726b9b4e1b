package model

import (
	"strings"

	"agenthost/sessions"
)

// The kinds of prompts: the first word of a prompt says what the model will do.
const (
	say     = "say"     // answers
	tool    = "tool"    // runs a tool, then answers
	tooling = "tooling" // runs two tools, one of which fails, then one, then answers
	fail    = "fail"    // fails at once
	half    = "half"    // fails in the middle of its text
	brittle = "brittle" // runs a tool, then fails as long as the provider is ill
	endless = "endless" // runs tools for ever
	stray   = "stray"   // calls what it may not
	hold    = "hold"    // waits at a gate, then answers
	murmur  = "murmur"  // the same, in the middle of its text
	late    = "late"    // runs a tool, then holds
	work    = "work"    // waits at a gate in a tool that must not run twice
	safe    = "safe"    // the same in one that may
)

// Where the tools of the script are.
const (
	notePath   = "/test/note"
	brokenPath = "/test/broken"
	workPath   = "/test/work"
	safePath   = "/test/safe"
	strayPath  = "/elsewhere/note"
)

// move is one answer of the scripted model: text, a wait at the gate, more
// text, then calls, or a failure in their place.
type move struct {
	before string
	hold   bool
	text   string
	calls  []string // paths
	fail   bool
}

// script is what the model says to a prompt in its n-th call of the turn, from 0.
func script(prompt string, n int, ill bool) move {
	answer := move{text: "re: " + prompt}
	kind, _, _ := strings.Cut(prompt, " ")
	switch {
	case kind == fail:
		return move{fail: true}
	case kind == half:
		return move{before: "half of " + prompt, fail: true}
	case kind == brittle && n > 0 && ill:
		return move{fail: true}
	case kind == hold && n == 0, kind == late && n == 1:
		answer.hold = true
	case kind == murmur && n == 0:
		answer.hold, answer.before = true, "hm, "
	case kind == tooling && n == 0:
		return move{text: "both", calls: []string{notePath, brokenPath}}
	case kind == endless, (kind == tool || kind == brittle || kind == late) && n == 0, kind == tooling && n == 1:
		return move{text: "one", calls: []string{notePath}}
	case kind == stray && n == 0:
		return move{calls: []string{strayPath}}
	case kind == work && n == 0:
		return move{calls: []string{workPath}}
	case kind == safe && n == 0:
		return move{calls: []string{safePath}}
	}
	return answer
}

// position is where in a turn a history stands: the prompt, and how many whole
// answers follow it.
func position(history []sessions.Message) (prompt string, n int) {
	for i := len(history) - 1; i >= 0; i-- {
		switch m := history[i]; {
		case m.Role == sessions.RoleUser:
			return sessions.TextOf(m.Content), n
		case m.Role == sessions.RoleAssistant && !m.Interrupted:
			n++
		}
	}
	return "", n
}

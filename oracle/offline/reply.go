package offline

import (
	"fmt"
	"regexp"
	"strings"

	"agenthost/sessions"
)

// questionBytes is how much of a message is searched for a question.
const questionBytes = 512

var (
	recallQuestion = regexp.MustCompile(`(?i)\bwhat (?:did|have) (i|you)\b.*?\b(?:say|said|write|written|ask|asked|tell|told|answer|answered|reply|replied)\b(.*)`)
	placeQuestion  = regexp.MustCompile(`(?i)\bwhat\b.*\b(my|your|the) (?:very )?(?:first|last|previous) (message|question|prompt|answer|reply)\b`)
	aboutTopic     = regexp.MustCompile(`(?i)\babout (.+?)\W*$`)
	countQuestion  = regexp.MustCompile(`(?i)\bhow many\b.*\b(?:messages|prompts|answers|things)\b|\bcount\b.*\bmessages\b`)
	listQuestion   = regexp.MustCompile(`(?i)\blist\b.*\b(?:said|messages|everything|conversation)\b|\bwhat was said\b`)
)

// reply answers the last user message in words.
func (c conversation) reply() string {
	asked := c.asked()
	head := asked[:min(len(asked), questionBytes)]
	switch {
	case c.last < 0:
		return "Nobody has asked me anything yet. I am the offline oracle."
	case countQuestion.MatchString(head):
		return c.count()
	case listQuestion.MatchString(head):
		return c.list()
	}
	if m := recallQuestion.FindStringSubmatch(head); m != nil {
		return c.recall(speaker(m[1]), isFirst(head), topicIn(m[2]))
	}
	if m := placeQuestion.FindStringSubmatch(head); m != nil {
		return c.recall(speaker(m[1]+" "+m[2]), isFirst(head), "")
	}
	if asked == "" {
		asked = describe(c.messages[c.last].Content)
	}
	return fmt.Sprintf("You said: %s\nI am the offline oracle: I can recall, count and list what was said, and run tools (%s builtin/time {}).",
		shorten(strings.TrimSpace(asked)), callWord)
}

// speaker returns whom a user means by words such as "I", "your" or "the answer".
func speaker(words string) sessions.Role {
	words = strings.ToLower(words)
	if strings.HasPrefix(words, "you") || strings.HasSuffix(words, "answer") || strings.HasSuffix(words, "reply") {
		return sessions.RoleAssistant
	}
	return sessions.RoleUser
}

// isFirst reports whether a question is about the first thing said; it is
// about the last one otherwise.
func isFirst(question string) bool { return strings.Contains(strings.ToLower(question), "first") }

func topicIn(question string) string {
	if m := aboutTopic.FindStringSubmatch(question); m != nil {
		return m[1]
	}
	return ""
}

// recall repeats the first or last thing that who has said before, of those
// that mention topic.
func (c conversation) recall(who sessions.Role, first bool, topic string) string {
	var found []string
	for _, text := range c.before(who) {
		if strings.Contains(strings.ToLower(text), strings.ToLower(topic)) {
			found = append(found, text)
		}
	}
	name := "You"
	if who == sessions.RoleAssistant {
		name = "I"
	}
	if len(found) == 0 {
		if topic != "" {
			return fmt.Sprintf("%s said nothing about %s.", name, shorten(topic))
		}
		return name + " have said nothing before."
	}
	if first {
		return fmt.Sprintf("%s said: %s", name, shorten(found[0]))
	}
	return fmt.Sprintf("%s said: %s", name, shorten(found[len(found)-1]))
}

// count says how many messages there are, the question among them.
func (c conversation) count() string {
	n := map[sessions.Role]int{}
	for _, m := range c.messages {
		n[m.Role]++
	}
	return fmt.Sprintf("There are %d messages: %d from you, %d from me, %d tool results.",
		len(c.messages), n[sessions.RoleUser], n[sessions.RoleAssistant], n[sessions.RoleTool])
}

// list numbers what was said before the question.
func (c conversation) list() string {
	var lines []string
	for i, m := range c.messages[:c.last] {
		name := string(m.Role)
		switch m.Role {
		case sessions.RoleUser:
			name = "you"
		case sessions.RoleAssistant:
			name = "I"
		}
		text := describe(m.Content)
		for _, call := range m.ToolCalls {
			text += fmt.Sprintf(" (called %s)", call.Path)
		}
		if m.Error != nil {
			text = fmt.Sprintf("failed with %s", m.Error.Code)
		}
		lines = append(lines, fmt.Sprintf("%d. %s: %s", i+1, name, shorten(strings.TrimSpace(text))))
	}
	if len(lines) == 0 {
		return "Nothing was said before."
	}
	return strings.Join(lines, "\n")
}

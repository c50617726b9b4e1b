package sessions

// Summary stands for the beginning of a conversation in what a model gets, when
// the whole is more than the model's context window takes. The messages it stands
// for stay stored as they are.
type Summary struct {
	ThroughSeq int64 // the last message it stands for; 0 for no summary
	// KeptSeq is a message among those it stands for that the model gets behind it
	// all the same: the user's last one. 0 for none.
	KeptSeq int64
	Text    string
}

// Follow returns INTERNAL unless s may come after another summary, or after none,
// of a conversation of so many messages: it stands for more, and for no more than
// there is.
func (s Summary) Follow(before Summary, messages int64) error {
	if s.ThroughSeq <= before.ThroughSeq || s.ThroughSeq > messages || s.KeptSeq < 0 || s.KeptSeq > s.ThroughSeq {
		return Errorf(CodeInternal, "A summary of messages up to %d, with %d kept, cannot follow one up to %d of %d messages.",
			s.ThroughSeq, s.KeptSeq, before.ThroughSeq, messages)
	}
	return nil
}

// Over returns what a model gets of history, a conversation from its first message
// on: all of it, or the summary as a message of the user and what comes after it.
// The same history gives the same messages.
func (s Summary) Over(history []Message) []Message {
	if s.ThroughSeq == 0 {
		return history
	}
	short := make([]Message, 0, int64(len(history))-s.ThroughSeq+2)
	short = append(short, Message{Role: RoleUser, Content: Text(s.lead() + s.Text)})
	if s.KeptSeq > 0 {
		short = append(short, history[s.KeptSeq-1])
	}
	return append(short, history[s.ThroughSeq:]...)
}

// lead says what the text is to a model that has not seen what it stands for.
func (s Summary) lead() string {
	if s.KeptSeq > 0 {
		return "The conversation so far is too long to be shown in full. This is a summary of its beginning, which includes what was " +
			"done already about the user's message that follows it:\n\n"
	}
	return "The conversation so far is too long to be shown in full. This is a summary of its beginning; what came after it follows:\n\n"
}

package api

// Streamer is implemented by the arguments of operations that can send frames
// before their reply.
type Streamer interface {
	Args
	// Streams reports whether frames are asked for.
	Streams() bool
	// SetStreams asks for frames, or not.
	SetStreams(bool)
}

// Streams reports whether the turn's frames are asked for.
func (a *PromptArgs) Streams() bool { return a.Stream }

// SetStreams asks for the turn's frames, or not.
func (a *PromptArgs) SetStreams(on bool) { a.Stream = on }

// Streams reports whether the turn's frames are asked for.
func (a *RetryArgs) Streams() bool { return a.Stream }

// SetStreams asks for the turn's frames, or not.
func (a *RetryArgs) SetStreams(on bool) { a.Stream = on }

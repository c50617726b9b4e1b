package sqlite

import (
	"log/slog"

	"agenthost/sessions"
)

// The two durabilities: what an acknowledged write survives.
const (
	DurabilityPower   = "power"   // a power loss
	DurabilityProcess = "process" // a kill of the process, not a power loss
)

// The two ways to keep the frames of a session.
const (
	FramesRecord = "record" // rows of the database, as durable as the rest
	FramesFile   = "file"   // files, whose tail a power loss may take
)

// Config is what may be chosen about a store. Its zero value is the default.
type Config struct {
	// Durability is DurabilityPower (the default) or DurabilityProcess.
	Durability string
	// Frames is FramesRecord (the default) or FramesFile. It is for the sessions
	// made from now on: those that are there keep theirs as they did.
	Frames string
	// FrameFolder is where files of frames are. "" means the database's path and
	// ".frames". Whoever moves the database moves the folder with it.
	FrameFolder string
	// FramesPerSession is how many frames of a session are kept; beyond it the
	// oldest are cut, but none of a turn that has not ended. 0 means 100,000, a
	// negative number that all are kept.
	FramesPerSession int64
	// Logger hears of damaged bodies, failed batches and reopened connections.
	// nil means slog.Default().
	Logger *slog.Logger
	// QueueLimit is how many writes may wait for the writer; one more is
	// answered OVERLOADED. 0 means 16,384.
	QueueLimit int
	// Observer hears of every transaction of the writer; nil for nobody.
	Observer Observer
	// Readers is how many reads may run at the same time. 0 means 4.
	Readers int
}

const (
	defaultQueueLimit = 16_384
	defaultReaders    = 4
)

func (c Config) withDefaults() Config {
	if c.Durability == "" {
		c.Durability = DurabilityPower
	}
	if c.Frames == "" {
		c.Frames = FramesRecord
	}
	if c.FramesPerSession == 0 {
		c.FramesPerSession = sessions.DefaultLimits().FramesPerSession
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	if c.QueueLimit == 0 {
		c.QueueLimit = defaultQueueLimit
	}
	if c.Readers == 0 {
		c.Readers = defaultReaders
	}
	return c
}

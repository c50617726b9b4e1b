package api

import "agenthost/sessions"

// Caller is who makes a request, as a door has established it.
type Caller struct {
	Owner sessions.Owner
	// Admin says that the caller may act for every owner.
	Admin bool
	// Face names the API that the request came by, "" for the host's own. Request
	// ids of one face are never taken for those of another.
	Face string
	// Key is the key that the caller came with, "" for none.
	Key sessions.KeyID
	// Home says that the caller came without a key by a way that needs none: a Unix
	// socket, or within the process.
	Home bool
	// Anyone says that whoever came would have been let in, with a key or without.
	Anyone bool
}

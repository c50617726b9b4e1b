// Package story tells one conversation from its beginning to its end, as a user
// would have it: the command as a host, models that are asked over HTTP, an MCP
// server that is a process, people who approve and answer, and kills.
package story

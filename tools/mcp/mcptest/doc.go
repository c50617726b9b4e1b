// Package mcptest is an MCP server for tests.
//
// Its tools answer, fail, wait, change the server's list and kill the server, so
// that a test can bring about whatever happens to servers. A test program becomes
// the server by calling Run, over stdio or over HTTP.
package mcptest

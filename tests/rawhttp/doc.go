// Package rawhttp speaks HTTP by hand, for tests that send what no client library
// would.
package rawhttp

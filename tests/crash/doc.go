// Package crash holds the tests that kill processes: the campaigns that kill a
// serving host over and over, under load, in deletes and in clears; the
// recoveries that are looked at one by one; and the faults of a file under a
// host. Its tests start the real command, and this package's own test program as
// a host with tools that wait, or that kill. Nothing imports it, and it holds no
// code but tests.
package crash

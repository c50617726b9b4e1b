// Command bench measures the host against the least that could do the same
// work, and prints one table with ratios.
//
// The floor is the bare driver: the host's own tables and pragmas, the same
// rows in the same two transactions a turn, the same group commit, and none of
// the host's checks, reads, actors or frames to listeners. Over HTTP it is a
// bare server on that driver. Rounds of floor and host alternate, each in a new
// file, so that a disk that is slow for a while is slow for both; a ratio is
// the median of the rounds' ratios.
//
// It asserts nothing about time. Every scenario is a method of bench, each
// waits for all it started, and nothing is shared between scenarios but the
// table.
package main

//go:build race

package actors_test

// fakeRounds is how often case 33 prompts in fake time.
const fakeRounds = 1_000

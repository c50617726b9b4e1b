package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestASkipOfNothingIsFound(t *testing.T) {
	topics := []string{"first", "second"}
	skips := map[string]string{"first": "no time", "second/there": "no need", "second/not there": "a typing error", "third": "another"}
	f := Factory{Skip: skips, known: &known{names: map[string]bool{}}}
	f.topic = "first"
	t.Run("a topic", func(t *testing.T) {
		f.enter(t)
		t.Error("what is skipped ran")
	})
	require.Empty(t, f.known.lack(topics, skips), "the second topic has not run yet")
	f.topic = "second"
	f.enter(t)
	f.run(t, "there", func(t *testing.T) { t.Error("what is skipped ran") })
	ran := false
	f.run(t, "another", func(*testing.T) { ran = true })
	require.True(t, ran)
	require.Equal(t, []string{"second/not there", "third"}, f.known.lack(topics, skips))
}

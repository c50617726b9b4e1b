package agentsv1

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"agenthost/oracle/scripted"
)

// A message may steer a turn whose text a stop has cut, and is then before the text
// that the turn writes in its place: the stream ends the one before it tells of the
// other, and tells of that from its beginning.
func TestAMessageBeforeATextThatIsWrittenAgain(t *testing.T) {
	w := newWorld(t, scripted.New(scripted.Step{Text: "half", Hang: true}))
	id, live := w.quiet()
	w.send(id, message(textPart("hi")), 202)
	live.until("turn.output_text.delta", 1)
	w.send(id, message(textPart("be quick")), 202)
	w.stop()
	before := live.events()
	w.open(scripted.New(scripted.Step{Deltas: []scripted.Delta{{Text: "all "}, {Text: "of it"}}}))
	after := w.listen(id, before[len(before)-1].id).until("idle", 1)
	require.Equal(t, []string{"message:completed:hi", "message:completed:be quick", "message:completed:all of it"}, textsOf(w, id))
	require.Equal(t, []string{"turn.output_text.done", "turn.content_part.done", "turn.item.done", "turn.item.added",
		"turn.item.added", "turn.content_part.added", "turn.output_text.done", "turn.content_part.done", "turn.item.done",
		"turn.completed", "idle"}, namesWithout(after, "turn.output_text.delta"))
	require.Equal(t, "incomplete", gjson.Get(after[2].data, "item.status").String())
	require.Equal(t, "all of it", deltas(after))
	for i := range after[:len(after)-1] {
		again := w.listen(id, after[i].id).until("idle", 1)
		require.Equal(t, shapes(after[i+1:]), shapes(again), "after event %d, %s", i, after[i].name)
		require.Equal(t, indexes(after[i+1:]), indexes(again), "after event %d, %s", i, after[i].name)
	}
	require.Equal(t, shapes(after[3:]), shapes(w.listen(id, before[0].id).until("idle", 1)[3:]), "of a text that nobody has kept, nobody else is told")
}

// indexes are the places of items in the agent's output, as they were told.
func indexes(events []seen) (all []string) {
	for _, e := range events {
		if e.name == "agent.session.turn.item.added" || e.name == "agent.session.turn.item.done" {
			all = append(all, gjson.Get(e.data, "output_index").Raw)
		}
	}
	return all
}

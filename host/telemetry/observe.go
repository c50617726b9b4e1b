package telemetry

import (
	"strconv"
	"time"

	"agenthost/actors"
	"agenthost/host"
	"agenthost/host/api"
	"agenthost/host/server"
	"agenthost/sessions"
)

// dropped is the status of turns that were not ended.
const dropped = "dropped"

// beginAtZero shows what an alert waits for from the start on, so that the first
// time is a rise.
func (m *Metrics) beginAtZero() {
	for _, outcome := range []actors.PromptOutcome{actors.PromptIsAccepted, actors.PromptIsDuplicate, actors.PromptIsBusy, actors.PromptIsOverloaded, actors.PromptIsRefused} {
		m.prompts.WithLabelValues(string(outcome))
	}
	for _, reason := range []host.SubscriptionEnd{host.SubscriptionEnd(api.EndSlow), host.SubscriptionEnd(api.EndDeleted),
		host.SubscriptionEnd(api.EndClosed), host.SubscriptionEnd(api.EndStopping), host.SubscriberLeft} {
		m.subscriptionEnds.WithLabelValues(string(reason))
	}
	for _, takenUp := range []bool{false, true} {
		m.started.WithLabelValues(originOf(takenUp))
	}
	for _, all := range []bool{false, true} {
		m.deletes.WithLabelValues(kindOf(all))
	}
	m.failedWrites.WithLabelValues()
	m.goneSessions.WithLabelValues()
	m.goneRows.WithLabelValues()
	m.commits.WithLabelValues()
	m.batches.WithLabelValues()
}

// Prompted counts a prompt.
func (m *Metrics) Prompted(outcome actors.PromptOutcome) {
	m.prompts.WithLabelValues(string(outcome)).Inc()
}

// TurnBegan counts a turn.
func (m *Metrics) TurnBegan(takenUp bool) { m.started.WithLabelValues(originOf(takenUp)).Inc() }

func originOf(takenUp bool) string {
	if takenUp {
		return "restart"
	}
	return "prompt"
}

// TurnEnded counts the end of a turn.
func (m *Metrics) TurnEnded(status sessions.TurnStatus, code sessions.Code, took time.Duration) {
	label := string(status)
	if label == "" {
		label = dropped
	}
	m.ended.WithLabelValues(label, codeLabel(code)).Inc()
	m.turns.WithLabelValues(label).Observe(took.Seconds())
}

// codeLabel is a code of the closed list, and others for anything else: codes
// also come from other hosts.
func codeLabel(code sessions.Code) string {
	if code != "" && code.Info().Code != code {
		return others
	}
	return string(code)
}

// ModelCalled counts a model call of a turn.
func (m *Metrics) ModelCalled(oracle string, outcome actors.CallOutcome, consumed sessions.Usage, took time.Duration) {
	oracle = m.oracles.label(oracle)
	m.models.WithLabelValues(oracle, string(outcome)).Observe(took.Seconds())
	m.consumed(oracle, consumed)
}

// SideAsked counts the model call of a side question.
func (m *Metrics) SideAsked(oracle string, outcome actors.CallOutcome, consumed sessions.Usage, took time.Duration) {
	oracle = m.oracles.label(oracle)
	m.asides.WithLabelValues(oracle, string(outcome)).Observe(took.Seconds())
	m.consumed(oracle, consumed)
}

func (m *Metrics) consumed(oracle string, consumed sessions.Usage) {
	m.tokens.WithLabelValues(oracle, "input").Add(float64(consumed.InputTokens))
	m.tokens.WithLabelValues(oracle, "cached").Add(float64(consumed.CachedTokens))
	m.tokens.WithLabelValues(oracle, "output").Add(float64(consumed.OutputTokens))
}

// ToolCalled counts a call of a tool.
func (m *Metrics) ToolCalled(path string, outcome actors.CallOutcome, took time.Duration) {
	m.tools.WithLabelValues(m.paths.label(path), string(outcome)).Observe(took.Seconds())
}

// Deleted counts a delete.
func (m *Metrics) Deleted(all bool, removed sessions.Receipt) {
	m.deletes.WithLabelValues(kindOf(all)).Inc()
	m.goneSessions.WithLabelValues().Add(float64(removed.Sessions))
	for _, rows := range removed.Rows {
		m.goneRows.WithLabelValues().Add(float64(rows))
	}
}

func kindOf(all bool) string {
	if all {
		return "clear"
	}
	return "session"
}

// SubscriptionEnded counts the end of a subscription.
func (m *Metrics) SubscriptionEnded(why host.SubscriptionEnd) {
	m.subscriptionEnds.WithLabelValues(string(why)).Inc()
}

// Answered counts an HTTP request.
func (m *Metrics) Answered(door server.Door, status int) {
	m.requests.WithLabelValues(string(door), strconv.Itoa(status)).Inc()
}

// Done counts an operation.
func (m *Metrics) Done(op api.Op, code sessions.Code, took time.Duration) {
	m.operations.WithLabelValues(string(op), codeLabel(code)).Inc()
	m.operationTimes.WithLabelValues(string(op)).Observe(took.Seconds())
}

// Committed counts a transaction of the store.
func (m *Metrics) Committed(writes int, took time.Duration) {
	m.commits.WithLabelValues().Observe(took.Seconds())
	m.batches.WithLabelValues().Observe(float64(writes))
}

// Failed counts writes that the store could not carry out.
func (m *Metrics) Failed(writes int) { m.failedWrites.WithLabelValues().Add(float64(writes)) }

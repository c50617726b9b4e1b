package telemetry

import "slices"

// Kind says how a metric behaves.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"   // only rises, from 0 at the start of the host
	Gauge     Kind = "gauge"     // is what it is now
	Histogram Kind = "histogram" // counts how often a value was in each of some ranges
)

// Description describes one metric.
type Description struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
	Alert  string // what to look out for, "" for nothing
	// buckets are the upper bounds of a histogram's ranges.
	buckets []float64
}

var (
	secondsOfWrites = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10}
	secondsOfCalls  = []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	writesInBatch   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)

// table has every metric, in the order of the documentation.
var table = []Description{
	{Name: "agenthost_build_info", Kind: Gauge, Labels: []string{"version", "go_version"}, Help: "Always 1; its labels say what runs."},
	{Name: "agenthost_prompts_total", Kind: Counter, Labels: []string{"outcome"}, Help: "Prompts by what became of them: accepted, duplicate, busy, overloaded or refused.",
		Alert: "overloaded rises: the host is at its limit"},
	{Name: "agenthost_turns_started_total", Kind: Counter, Labels: []string{"origin"}, Help: "Turns that began: by a prompt, or taken up at a restart."},
	{Name: "agenthost_turns_ended_total", Kind: Counter, Labels: []string{"status", "code"}, Help: "Turns that ended, by status and code; dropped ones were deleted with their session, or go on at the next start.",
		Alert: "the share of failed is unusual; any INTERNAL or CRASH_LOOP"},
	{Name: "agenthost_turn_seconds", Kind: Histogram, Labels: []string{"status"}, Help: "How long turns took.", buckets: secondsOfCalls,
		Alert: "the 95th percentile is near promptTimeout"},
	{Name: "agenthost_turns_busy", Kind: Gauge, Help: "Turns under way or queued; those that wait for clients are not.", Alert: "near the limit busyTurns"},
	{Name: "agenthost_sessions_resident", Kind: Gauge, Help: "Sessions in memory.", Alert: "rises without end: idleTTL is too long for the memory"},
	{Name: "agenthost_model_call_seconds", Kind: Histogram, Labels: []string{"oracle", "outcome"}, Help: "Model calls, with their retries: ok, failed, or cut when the turn ended first.", buckets: secondsOfCalls,
		Alert: "the share of failed rises: the provider is down, or refuses the key"},
	{Name: "agenthost_side_question_seconds", Kind: Histogram, Labels: []string{"oracle", "outcome"}, Help: "Model calls of side questions, which are not among those: ok, failed, or cut when something else ended them.", buckets: secondsOfCalls},
	{Name: "agenthost_model_tokens_total", Kind: Counter, Labels: []string{"oracle", "kind"}, Help: "Tokens of all model calls as providers report them: input, cached (a part of input) and output.",
		Alert: "rises faster than the budget allows"},
	{Name: "agenthost_tool_call_seconds", Kind: Histogram, Labels: []string{"path", "outcome"}, Help: "Calls of mounted tools: ok, failed or cut.", buckets: secondsOfCalls,
		Alert: "the share of failed rises at one path"},
	{Name: "agenthost_store_commit_seconds", Kind: Histogram, Help: "Transactions of the store, until they were durable.", buckets: secondsOfWrites,
		Alert: "the 99th percentile is above 0.5 s: the disk is slow or full"},
	{Name: "agenthost_store_batch_writes", Kind: Histogram, Help: "Writes that shared a transaction.", buckets: writesInBatch},
	{Name: "agenthost_store_failed_writes_total", Kind: Counter, Help: "Writes that the store could not carry out.", Alert: "any"},
	{Name: "agenthost_store_waiting_writes", Kind: Gauge, Help: "Writes that wait for the store.", Alert: "stays above 1,000"},
	{Name: "agenthost_store_database_bytes", Kind: Gauge, Help: "Size of the database.", Alert: "near what the disk has"},
	{Name: "agenthost_store_journal_bytes", Kind: Gauge, Help: "Size of the journal beside the database.", Alert: "larger than the database: something holds a long read"},
	{Name: "agenthost_deletes_total", Kind: Counter, Labels: []string{"kind"}, Help: "Deletes that are through: of a session with its tree, or of all sessions of an owner."},
	{Name: "agenthost_deleted_sessions_total", Kind: Counter, Help: "Sessions that deletes have removed."},
	{Name: "agenthost_deleted_rows_total", Kind: Counter, Help: "Rows that deletes have removed."},
	{Name: "agenthost_retention_sweeps_total", Kind: Counter, Help: "Sweeps of the retention.", Alert: "stands still for longer than retention.every"},
	{Name: "agenthost_retention_trees_total", Kind: Counter, Help: "Trees that the retention has removed."},
	{Name: "agenthost_retention_sessions_total", Kind: Counter, Help: "Sessions in them."},
	{Name: "agenthost_retention_kept_total", Kind: Counter, Help: "Trees that a rule has named and that were left alone."},
	{Name: "agenthost_retention_failures_total", Kind: Counter, Help: "Sweeps that were broken off.", Alert: "rises"},
	{Name: "agenthost_unheard_deletes", Kind: Gauge, Help: "Deleted sessions that the hook has still to be told of.", Alert: "rises: the hook fails"},
	{Name: "agenthost_subscriptions_open", Kind: Gauge, Help: "Subscriptions.", Alert: "near the limit subscriptions"},
	{Name: "agenthost_subscriptions_ended_total", Kind: Counter, Labels: []string{"reason"}, Help: "Subscriptions that ended: slow, deleted, closed, stopping, or left by their reader.",
		Alert: "slow rises: readers do not keep up"},
	{Name: "agenthost_http_requests_total", Kind: Counter, Labels: []string{"door", "status"}, Help: "HTTP requests by door and status; a WebSocket counts when it closes.",
		Alert: "any 5xx; 429"},
	{Name: "agenthost_operations_total", Kind: Counter, Labels: []string{"op", "code"}, Help: "Operations by all doors; code is empty for those that were done, or whose caller left.",
		Alert: "any INTERNAL or STORE_UNAVAILABLE"},
	{Name: "agenthost_operation_seconds", Kind: Histogram, Labels: []string{"op"}, Help: "How long operations took, a prompt's with its wait for the turn.", buckets: secondsOfCalls},
}

// Descriptions lists every metric of a host. Beside them there are those of the
// process and of its runtime, process_… and go_….
func Descriptions() []Description { return slices.Clone(table) }

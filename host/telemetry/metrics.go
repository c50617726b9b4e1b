package telemetry

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"agenthost/host"
	"agenthost/host/server"
)

// How many names of each kind become labels.
const (
	maxPaths   = 200
	maxOracles = 50
)

// Metrics counts what one host does. It is the host.Observer, the server.Observer
// and the observer of the store's transactions of that host, and safe for
// concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	paths    *names
	oracles  *names

	prompts, started, ended, tokens               *prometheus.CounterVec
	failedWrites, deletes, goneSessions, goneRows *prometheus.CounterVec
	subscriptionEnds, requests, operations        *prometheus.CounterVec
	turns, models, asides, tools                  *prometheus.HistogramVec
	commits, batches, operationTimes              *prometheus.HistogramVec
}

var (
	_ host.Observer   = (*Metrics)(nil)
	_ server.Observer = (*Metrics)(nil)
)

// New returns metrics that have counted nothing yet. version is the host's. log
// hears of metrics that could not be shown.
func New(version string, log *slog.Logger) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), paths: newNames(maxPaths), oracles: newNames(maxOracles)}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := m.gauge("agenthost_build_info")
	build.WithLabelValues(version, runtime.Version()).Set(1)

	m.prompts = m.counter("agenthost_prompts_total")
	m.started, m.ended = m.counter("agenthost_turns_started_total"), m.counter("agenthost_turns_ended_total")
	m.turns = m.histogram("agenthost_turn_seconds")
	m.models, m.tokens = m.histogram("agenthost_model_call_seconds"), m.counter("agenthost_model_tokens_total")
	m.asides = m.histogram("agenthost_side_question_seconds")
	m.tools = m.histogram("agenthost_tool_call_seconds")
	m.commits, m.batches = m.histogram("agenthost_store_commit_seconds"), m.histogram("agenthost_store_batch_writes")
	m.failedWrites = m.counter("agenthost_store_failed_writes_total")
	m.deletes, m.goneSessions = m.counter("agenthost_deletes_total"), m.counter("agenthost_deleted_sessions_total")
	m.goneRows = m.counter("agenthost_deleted_rows_total")
	m.subscriptionEnds = m.counter("agenthost_subscriptions_ended_total")
	m.requests, m.operations = m.counter("agenthost_http_requests_total"), m.counter("agenthost_operations_total")
	m.operationTimes = m.histogram("agenthost_operation_seconds")
	m.beginAtZero()
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
	})
	return m
}

// ServeHTTP shows all metrics in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// describe returns the row of the table. A metric without one is a fault of this
// package, and is found by making a Metrics.
func describe(name string, kind Kind) Description {
	i := slices.IndexFunc(table, func(d Description) bool { return d.Name == name && d.Kind == kind })
	if i < 0 {
		panic(fmt.Sprintf("telemetry: the table has no %s %s", kind, name))
	}
	return table[i]
}

func (m *Metrics) counter(name string) *prometheus.CounterVec {
	d := describe(name, Counter)
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) gauge(name string) *prometheus.GaugeVec {
	d := describe(name, Gauge)
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) histogram(name string) *prometheus.HistogramVec {
	d := describe(name, Histogram)
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: d.buckets}, d.Labels)
	m.registry.MustRegister(vec)
	return vec
}

package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"agenthost/host"
)

// lookTime bounds how long the store may take to tell its numbers.
const lookTime = 2 * time.Second

// StoreNumbers is what a store tells of itself.
type StoreNumbers struct {
	Waiting       int   // writes that wait
	DatabaseBytes int64 // of the database
	JournalBytes  int64 // of what is beside it
	Unheard       int64 // deleted sessions that a hook has still to be told of
}

// Watch shows from now on how many turns, sessions and subscriptions the host has,
// what its retention has done, and the numbers of its store. It is called once.
// store may be nil for a store that tells none; log hears when it fails.
func (m *Metrics) Watch(h *host.Host, store func(context.Context) (StoreNumbers, error), log *slog.Logger) {
	m.registry.MustRegister(&watched{host: h, store: store, log: log, descs: describeWatched()})
}

// watched is what is looked at when somebody asks, and not counted.
type watched struct {
	host  *host.Host
	store func(context.Context) (StoreNumbers, error)
	log   *slog.Logger
	descs map[string]*prometheus.Desc
}

// ofHost and ofStore name the metrics of watched.
var (
	ofHost = []string{
		"agenthost_turns_busy", "agenthost_sessions_resident", "agenthost_subscriptions_open",
		"agenthost_retention_sweeps_total", "agenthost_retention_trees_total", "agenthost_retention_sessions_total",
		"agenthost_retention_kept_total", "agenthost_retention_failures_total",
	}
	ofStore = []string{
		"agenthost_store_waiting_writes", "agenthost_store_database_bytes", "agenthost_store_journal_bytes", "agenthost_unheard_deletes",
	}
)

func describeWatched() map[string]*prometheus.Desc {
	descs := map[string]*prometheus.Desc{}
	of := slices.Concat(ofHost, ofStore)
	for _, d := range table {
		if slices.Contains(of, d.Name) {
			descs[d.Name] = prometheus.NewDesc(d.Name, d.Help, nil, nil)
		}
	}
	return descs
}

// Describe implements prometheus.Collector.
func (w *watched) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range w.descs {
		to <- desc
	}
}

// Collect implements prometheus.Collector. A store that fails leaves out what it
// cannot tell.
func (w *watched) Collect(to chan<- prometheus.Metric) {
	resident, busy := w.host.System().Counts()
	kept := w.host.RetentionStats()
	w.show(to, ofHost, prometheus.GaugeValue, busy, resident, w.host.Subscriptions())
	w.show(to, ofHost[3:], prometheus.CounterValue, kept.Sweeps, kept.Trees, kept.Sessions, kept.Kept, kept.Failures)
	if w.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	n, err := w.store(ctx)
	if err != nil {
		w.log.Warn("the store does not tell its numbers", "error", err)
		return
	}
	w.show(to, ofStore, prometheus.GaugeValue, int64(n.Waiting), n.DatabaseBytes, n.JournalBytes, n.Unheard)
}

func (w *watched) show(to chan<- prometheus.Metric, names []string, kind prometheus.ValueType, values ...int64) {
	for i, value := range values {
		to <- prometheus.MustNewConstMetric(w.descs[names[i]], kind, float64(value))
	}
}

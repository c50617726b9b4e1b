package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// row is one line of the table. A measure without a floor has no floors.
type row struct {
	what   string
	load   string // such as "64 sessions"
	unit   string
	floors []float64 // one a round
	hosts  []float64
	goal   string // for the ratio, or for the host where there is no floor
}

type table []row

// add appends a row.
func (t *table) add(r row) { *t = append(*t, r) }

// ratios are the host's values over the floor's, round by round.
func (r row) ratios() []float64 {
	all := make([]float64, len(r.floors))
	for i := range r.floors {
		all[i] = r.hosts[i] / r.floors[i]
	}
	return all
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// markdown writes the table so that it can be read unrendered too.
func (t table) markdown() string {
	cells := [][]string{{"measure", "load", "unit", "floor", "host", "host / floor", "rounds from–to", "goal"}}
	for _, r := range t {
		floor, ratio, spread := "–", "–", "–"
		if len(r.floors) > 0 {
			ratios := r.ratios()
			floor, ratio = number(median(r.floors)), fmt.Sprintf("%.2f", median(ratios))
			spread = fmt.Sprintf("%.2f–%.2f", slices.Min(ratios), slices.Max(ratios))
		}
		cells = append(cells, []string{r.what, r.load, r.unit, floor, number(median(r.hosts)), ratio, spread, r.goal})
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for i, line := range cells {
		for j, cell := range line {
			fmt.Fprintf(&b, "| %-*s ", widths[j], cell)
		}
		b.WriteString("|\n")
		if i == 0 {
			for _, width := range widths {
				b.WriteString("|" + strings.Repeat("-", width+2))
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

// number writes a value with three digits or all that stand before the point.
func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%d", int64(math.Round(v)))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3f", v)
	}
}

package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// tableWidth is what every line of a table keeps to.
const tableWidth = 80

const (
	columnGap    = 2
	minLastWidth = 8
)

// table is rows of cells for people. The last column gets what the others leave.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write aligns the columns and cuts the last one to fit.
func (t *table) write(w io.Writer) error {
	tabs := tabwriter.NewWriter(w, 0, 0, columnGap, ' ', 0)
	room := t.room()
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = oneLine(cell, tableWidth)
		}
		last := len(cells) - 1
		cells[last] = oneLine(cells[last], room)
		if _, err := fmt.Fprintln(tabs, strings.TrimRight(strings.Join(cells, "\t"), "\t")); err != nil {
			return err
		}
	}
	return tabs.Flush()
}

// room is the width that is left to the last column.
func (t *table) room() int {
	room := tableWidth
	for column := 0; ; column++ {
		widest, inner := 0, false
		for _, row := range t.rows {
			if column < len(row)-1 {
				widest, inner = max(widest, utf8.RuneCountInString(row[column])), true
			}
		}
		if !inner {
			return max(minLastWidth, room)
		}
		room -= widest + columnGap
	}
}

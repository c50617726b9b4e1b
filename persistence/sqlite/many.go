package sqlite

import "strings"

// maxInsertRows is how many rows one statement inserts at most.
const maxInsertRows = 32

// insertAll inserts rows of equal length, many with one statement. into goes
// before the values and end behind them.
func (t *tx) insertAll(into string, rows [][]any, end string) error {
	for len(rows) > 0 {
		n := min(len(rows), maxInsertRows)
		row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(rows[0])), ", ") + ")"
		args := make([]any, 0, n*len(rows[0]))
		for _, values := range rows[:n] {
			args = append(args, values...)
		}
		if _, err := t.exec(into+row+strings.Repeat(", "+row, n-1)+end, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// jsonOf writes what of takes from each item as the JSON array that a statement
// reads with json_each: a set of any size is one argument.
func jsonOf[T, V any](items []T, of func(T) V) (string, error) {
	values := make([]V, len(items))
	for i, item := range items {
		values[i] = of(item)
	}
	data, err := encode(values)
	return string(data), err
}

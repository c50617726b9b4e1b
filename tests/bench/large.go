package main

import (
	"context"
	"fmt"
	"time"

	"agenthost/host/api"
)

// large measures a store of many sessions: how long it takes to open, and what
// a page of its list costs.
func (b *bench) large(ctx context.Context) error {
	for _, count := range []int{10_000, 100_000} {
		count = b.scaled(count)
		file := b.newFile()
		if err := fill(ctx, file, count); err != nil {
			return err
		}
		var bareOpens, hostOpens, bareLists, hostLists []float64
		for range b.rounds {
			opened, listed, err := bareLarge(ctx, file)
			if err != nil {
				return err
			}
			bareOpens, bareLists = append(bareOpens, opened), append(bareLists, listed)
			if opened, listed, err = hostLarge(ctx, file); err != nil {
				return err
			}
			hostOpens, hostLists = append(hostOpens, opened), append(hostLists, listed)
		}
		load := fmt.Sprintf("%d sessions", count)
		b.table.add(row{"open and start", load, "ms", bareOpens, hostOpens, "host < 100 ms"})
		b.table.add(row{"list of 50 p50", load, "ms", bareLists, hostLists, "≤ 1.3"})
		b.say("%s: open %.1f ms, list %.3f against %.3f ms", load, median(hostOpens), median(hostLists), median(bareLists))
	}
	return nil
}

// fill makes a database of many idle sessions.
func fill(ctx context.Context, file string, count int) error {
	f, err := openFloor(ctx, file)
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	err = f.commit(func(f *floor) error {
		if _, err := f.exec("INSERT INTO owners (owner) VALUES ('local')"); err != nil {
			return err
		}
		_, err := f.exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
            INSERT INTO sessions (owner, generation, id, target_key, profile_key, epoch, status, title, preview, labels,
                parent_id, parent_location, turn_count, message_count, frame_count, created_ms, last_active_ms)
            SELECT 'local', 1, 'session-' || i, 'session-' || i, 'default', 1, 'idle', 'A title', ?, '{}', '', '', 1, 2, 7, ? - i, ? - i FROM n`,
			count, promptText, now, now)
		return err
	})
	if err != nil {
		return err
	}
	return f.close()
}

const listColumns = 33

// bareList is the statement that gives a page of the list, and all its columns.
const bareList = `SELECT sid, owner, generation, id, target_key, profile_key, epoch, status, damaged, filed, first_frame, title, preview, labels,
    parent_id, parent_location, forked_from, turn_count, message_count, frame_count, queued,
    created_ms, last_active_ms, closed_ms, closed_reason, active_turn, active_request, active_started_ms,
    input_tokens, output_tokens, cached_tokens, calls, last_error
    FROM sessions INDEXED BY sessions_list WHERE owner = 'local' AND deleted_ms IS NULL ORDER BY last_active_ms DESC, id DESC LIMIT 51`

const listSamples = 200

// bareLarge returns the driver's time to open the file and answer a first
// question, and that of a page of the list, in ms.
func bareLarge(ctx context.Context, file string) (opened, listed float64, err error) {
	start := time.Now()
	db, err := openBare(file, "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)")
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	query, err := db.PrepareContext(ctx, bareList)
	if err != nil {
		return 0, 0, err
	}
	defer query.Close()
	list := func(int) error {
		rows, err := query.QueryContext(ctx)
		if err != nil {
			return err
		}
		return walk(rows, listColumns)
	}
	if err := list(0); err != nil {
		return 0, 0, err
	}
	opened = time.Since(start).Seconds() * 1000
	times, err := sampled(listSamples, list)
	return opened, milliseconds(times), err
}

// hostLarge does so with the whole host, until it has answered a first list.
func hostLarge(ctx context.Context, file string) (opened, listed float64, err error) {
	start := time.Now()
	h, _, err := openHost(ctx, file)
	if err != nil {
		return 0, 0, err
	}
	defer h.Stop()
	list := func(int) error {
		page, err := h.SessionList(ctx, &api.SessionListArgs{})
		if err == nil && len(page.Sessions) == 0 {
			err = fmt.Errorf("the list is empty")
		}
		return err
	}
	if err := list(0); err != nil {
		return 0, 0, err
	}
	opened = time.Since(start).Seconds() * 1000
	times, err := sampled(listSamples, list)
	return opened, milliseconds(times), err
}

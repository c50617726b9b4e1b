package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"agenthost/host/api"
	"agenthost/sessions"
)

// history measures the load of a session of 200 messages: as the actor reads
// it, and as the first turn of a session that is not in memory.
func (b *bench) history(ctx context.Context) error {
	const messages = 200
	file, count := b.newFile(), b.scaled(60)
	if err := b.seedHistories(ctx, file, count, messages); err != nil {
		return err
	}
	var bare, loads, firsts, warms []float64
	for round := range b.rounds {
		took, err := bareHistory(ctx, file, count)
		if err != nil {
			return err
		}
		bare = append(bare, took)
		load, first, warm, err := b.hostHistory(ctx, file, count, round)
		if err != nil {
			return err
		}
		loads, firsts, warms = append(loads, load), append(firsts, first), append(warms, warm)
	}
	load := plural(messages, "message") + " of 1 KiB"
	b.table.add(row{"load of a session p50", load, "ms", bare, loads, ""})
	b.table.add(row{"turn of a session not in memory p50 (floor: in memory)", load, "ms", warms, firsts, ""})
	b.say("history: bare %.2f, host %.2f ms", median(bare), median(loads))
	return nil
}

// seedHistories makes sessions with a history each.
func (b *bench) seedHistories(ctx context.Context, file string, count, messages int) error {
	h, _, err := openHost(ctx, file)
	if err != nil {
		return err
	}
	defer h.Stop()
	text := strings.Repeat("sixteen letters.", 64)
	seed := make([]api.SeedMessage, messages)
	for i := range seed {
		role := sessions.RoleUser
		if i%2 == 1 {
			role = sessions.RoleAssistant
		}
		seed[i] = api.SeedMessage{Role: role, Content: sessions.Text(text)}
	}
	for w := range count {
		_, err := h.SessionSeed(ctx, &api.SessionSeedArgs{Address: api.Address{TargetKey: sessionKey(w)}, Messages: seed})
		if err != nil {
			return err
		}
	}
	return nil
}

// bareHistory is the driver's time to hand out the rows of one session, in ms.
func bareHistory(ctx context.Context, file string, count int) (float64, error) {
	db, err := openBare(file)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	query, err := db.PrepareContext(ctx, "SELECT seq, created_ms, body, crc FROM session_messages WHERE sid = ? ORDER BY seq")
	if err != nil {
		return 0, err
	}
	defer query.Close()
	times, err := sampled(count, func(n int) error {
		rows, err := query.QueryContext(ctx, n+1)
		if err != nil {
			return err
		}
		return walk(rows, 4)
	})
	return milliseconds(times), err
}

// walk reads rows of some columns to their end.
func walk(rows *sql.Rows, columns int) error {
	defer rows.Close()
	values := make([]any, columns)
	targets := make([]any, columns)
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// hostHistory returns the store's time to load a history, and that of a turn of
// a session that is not in memory and of one that is, in ms.
func (b *bench) hostHistory(ctx context.Context, file string, count, round int) (load, first, warm float64, err error) {
	h, store, err := openHost(ctx, file)
	if err != nil {
		return 0, 0, 0, err
	}
	defer h.Stop()
	loads, err := sampled(count, func(n int) error {
		page, err := store.Messages(ctx, sessions.Incarnation(n+1), sessions.MessageQuery{})
		if err == nil && len(page.Messages) < 200 {
			err = fmt.Errorf("session %d has %d messages", n+1, len(page.Messages))
		}
		return err
	})
	if err != nil {
		return 0, 0, 0, err
	}
	turn := hostTurns(h)
	firsts, err := sampled(count, func(n int) error { return turn(ctx, n, 2*round) })
	if err != nil {
		return 0, 0, 0, err
	}
	warms, err := sampled(count, func(n int) error { return turn(ctx, n, 2*round+1) })
	return milliseconds(loads), milliseconds(firsts), milliseconds(warms), err
}

// milliseconds is the median of sorted times.
func milliseconds(sorted []time.Duration) float64 { return quantile(sorted, 0.5).Seconds() * 1000 }

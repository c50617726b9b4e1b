package memory

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"agenthost/sessions"
)

// tables are the names that the suite knows some collections by.
var tables = map[string]string{
	"claims": "dedupe_claims", "claimGraves": "claim_tombstones", "sessionGraves": "session_tombstones",
	"pending": "pending_prompts", "summaries": "session_summaries",
	"waited": "waited_calls", "agents": "saved_agents", "agentClaims": "agent_claims", "agentGraves": "agent_tombstones",
}

// Rows returns every item of every collection of the store as text, by
// collection. It finds them by looking at the types, so that one which is added
// later is there too.
func (s *Store) Rows() map[string][]string {
	s.door.lock()
	defer s.door.unlock()
	all := map[string][]string{}
	collect(all, "", reflect.ValueOf(s).Elem())
	delete(all, "lives")
	for _, r := range s.lives {
		life := text(reflect.ValueOf(r.life()))
		all["sessions"] = append(all["sessions"], life+text(reflect.ValueOf(r.session)))
		collect(all, life, reflect.ValueOf(r).Elem())
	}
	for _, rows := range all {
		slices.Sort(rows)
	}
	return all
}

// collect adds the rows of a struct's collections, each behind a prefix.
func collect(all map[string][]string, prefix string, of reflect.Value) {
	for i := range of.NumField() {
		name, field := of.Type().Field(i).Name, of.Field(i)
		if known, ok := tables[name]; ok {
			name = known
		}
		switch field.Kind() {
		case reflect.Map:
			all[name] = slices.Clip(all[name]) // so that there is an entry
			for key, item := range field.Seq2() {
				all[name] = append(all[name], prefix+text(key)+text(item))
			}
		case reflect.Slice:
			all[name] = slices.Clip(all[name])
			for _, item := range field.Seq2() {
				all[name] = append(all[name], prefix+text(item))
			}
		}
	}
}

// text writes a value with all that is in it; a life as "sid=1;".
func text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return ""
		}
		return text(v.Elem())
	case reflect.Struct:
		var b strings.Builder
		for i := range v.NumField() {
			b.WriteString(text(v.Field(i)))
		}
		return b.String()
	case reflect.Map:
		var b strings.Builder
		for key, item := range v.Seq2() {
			b.WriteString(text(key) + text(item))
		}
		return b.String()
	case reflect.Slice, reflect.Array:
		var b strings.Builder
		for i := range v.Len() {
			if item := v.Index(i); item.Kind() == reflect.Uint8 {
				b.WriteByte(byte(item.Uint()))
			} else {
				b.WriteString(text(item))
			}
		}
		return b.String()
	default:
		if v.Type() == reflect.TypeFor[sessions.Incarnation]() {
			return fmt.Sprintf("sid=%d;", v.Int())
		}
		return fmt.Sprintf("%v;", v)
	}
}

// InsertUsage stores usage that no turn has reported.
func (s *Store) InsertUsage(life sessions.Incarnation) {
	s.door.lock()
	defer s.door.unlock()
	s.lives[life].usage[usageKey{day: 1, model: "inserted"}] = sessions.Usage{Calls: 1}
}

// CountUsage counts the usage records of a life.
func (s *Store) CountUsage(life sessions.Incarnation) int {
	s.door.lock()
	defer s.door.unlock()
	if r := s.lives[life]; r != nil {
		return len(r.usage)
	}
	return 0
}

// Hold keeps the store from doing anything until release is called. waiting says
// how many calls wait for that.
func (s *Store) Hold() (waiting func() int, release func()) {
	s.door.lock()
	waiting = func() int {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		return len(s.door.queue)
	}
	return waiting, s.door.unlock
}

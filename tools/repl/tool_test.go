package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"agenthost/sessions"
	"agenthost/tools"
)

// session is a turn whose state outlives its calls, as that of a host does.
type session struct {
	tools.Turn
	t     *testing.T
	tool  tools.Tool
	state map[string]json.RawMessage
	limit int
}

func (s *session) State(_ context.Context, name string) (sessions.StateValue, bool, error) {
	value, found := s.state[name]
	return sessions.StateValue{Value: value}, found, nil
}

func (s *session) SetState(name string, value json.RawMessage) error {
	if s.limit > 0 && len(value) > s.limit {
		return sessions.TooLarge("stateBytes", int64(s.limit), "The state %q is over the limit stateBytes of %d.", name, s.limit)
	}
	s.state[name] = value
	return nil
}

func newSession(t *testing.T, c Config) *session {
	t.Helper()
	tool, err := New(c)
	require.NoError(t, err)
	return &session{t: t, tool: tool, state: map[string]json.RawMessage{}}
}

func (s *session) invoke(ctx context.Context, in args) (Result, error) {
	given, err := json.Marshal(in)
	require.NoError(s.t, err)
	output, err := s.tool.Invoke(ctx, tools.Call{Args: given, Turn: s})
	if err != nil {
		return Result{}, err
	}
	var r Result
	require.NoError(s.t, json.Unmarshal(output, &r))
	return r, nil
}

// run runs a cell and returns what it came to.
func (s *session) run(code string) Result {
	s.t.Helper()
	r, err := s.invoke(s.t.Context(), args{Code: code})
	require.NoError(s.t, err, code)
	return r
}

// value runs a cell that does not fail and returns its value.
func (s *session) value(code string) string {
	s.t.Helper()
	r := s.run(code)
	require.Nil(s.t, r.Error, "%s: %+v", code, r.Error)
	return string(r.Value)
}

// fails runs a cell that fails, and requires that it has changed nothing.
func (s *session) fails(code string) *Fault {
	s.t.Helper()
	before := bytes.Clone(s.state[StateName])
	r := s.run(code)
	require.NotNil(s.t, r.Error, "%s: %s", code, r.Value)
	require.Empty(s.t, r.Value)
	require.Equal(s.t, before, []byte(s.state[StateName]), code)
	return r.Error
}

// restarted returns the session as another process finds it: all that it has is
// its state.
func (s *session) restarted() *session {
	return s.in(newSession(s.t, Config{}).tool)
}

// in returns a copy of the session on which another tool works.
func (s *session) in(tool tools.Tool) *session {
	other := &session{t: s.t, tool: tool, state: map[string]json.RawMessage{}, limit: s.limit}
	for name, value := range s.state {
		other.state[name] = bytes.Clone(value)
	}
	return other
}

func TestWhatCellsMakeIsKept(t *testing.T) {
	before, after := newSession(t, Config{}), newSession(t, Config{})
	for name, cells := range map[string][][2]string{
		"let":         {{"let n = 1", ""}, {"n += 1", "2"}, {"n", "2"}},
		"const":       {{"const k = {a: [1]}", ""}, {"k.a.push(2); k", `{"a":[1,2]}`}, {"k.a.length", "2"}},
		"var":         {{"var v = 'x'; v", `"x"`}, {"v + v", `"xx"`}},
		"implicit":    {{"g = 5", "5"}, {"g", "5"}},
		"function":    {{"let n = 0; function inc() { return ++n }; inc()", "1"}, {"inc()", "2"}, {"n", "2"}},
		"closure":     {{"const c = (() => { let n = 0; return () => ++n })(); c()", "1"}, {"c()", "2"}, {"c()", "3"}},
		"private":     {{"class C { #n = 1; up() { return ++this.#n } }; const c = new C; c.up()", "2"}, {"c.up()", "3"}},
		"subclass":    {{"class A { hi() { return 'a' } }; class B extends A {}; const b = new B; 0", "0"}, {"b instanceof A && b.hi()", `"a"`}},
		"generator":   {{"const g = (function* () { for (let i = 0; ; i++) yield i })(); g.next().value", "0"}, {"g.next().value", "1"}},
		"cycle":       {{"const a = {}; a.me = a; 0", "0"}, {"a.me.me === a", "true"}},
		"bigint":      {{"let b = 2n ** 70n; 0", "0"}, {"b + 1n", `"1180591620717411303425n"`}},
		"date":        {{"const d = new Date(1000); 0", "0"}, {"d", `"1970-01-01T00:00:01.000Z"`}},
		"map":         {{"const m = new Map([['k', new Set([1, 2])]]); 0", "0"}, {"m", `[["k",[1,2]]]`}},
		"bytes":       {{"const u = new Uint8Array([1, 2, 255]); 0", "0"}, {"u[2]", "255"}},
		"regexp":      {{"const r = /a+/g; r.test('aa'), r.lastIndex", "2"}, {"r.lastIndex", "2"}},
		"symbol":      {{"const s = Symbol('s'); const o = {[s]: 1}; 0", "0"}, {"o[s]", "1"}},
		"getter":      {{"let n = 0; const o = {get up() { return ++n }}; 0", "0"}, {"o.up", "1"}, {"o.up", "2"}},
		"proxy":       {{"let seen = []; const p = new Proxy({}, {get: (_, k) => (seen.push(k), 7)}); 0", "0"}, {"seen.length", "0"}, {"p.x", "7"}, {"seen", `["x"]`}},
		"prototype":   {{"Array.prototype.last = function () { return this[this.length - 1] }; 0", "0"}, {"[1, 2].last()", "2"}},
		"promise":     {{"let done; const p = new Promise(r => { done = r }); 0", "0"}, {"done(4); p", "4"}},
		"surrogate":   {{`const s = '\ud800x'; s.length`, "2"}, {"s.charCodeAt(0)", "55296"}},
		"tampering":   {{"JSON.stringify = null; Object.defineProperty = null; Reflect = null; Array.isArray = null; ({a: new Map([[1, 2]])})", `{"a":[[1,2]]}`}, {"typeof Reflect", `"object"`}},
		"no console":  {{"console = undefined; 1", "1"}, {"typeof console", `"undefined"`}},
		"frozen":      {{"Object.freeze(globalThis); 1", "1"}, {"let later = 2; later", "2"}, {"later", "2"}},
		"odd strings": {{"const s = 'a\\0b\\u2028'; s.length", "4"}, {"s", "\"a\\u0000b\u2028\""}},
	} {
		t.Run(name, func(t *testing.T) {
			s := before.in(before.tool)
			s.t = t
			for i, cell := range cells {
				require.Equal(t, cell[1], s.value(cell[0]), cell[0])
				require.Less(t, len(s.state[StateName]), 64<<10)
				if i == 0 {
					s = s.in(after.tool) // as another process would
				}
			}
		})
	}
}

func TestACellThatFailsChangesNothing(t *testing.T) {
	hasty := newSession(t, Config{Timeout: 300 * time.Millisecond, MemoryBytes: 16 << 20}).tool
	s := newSession(t, Config{Timeout: time.Hour, MemoryBytes: 16 << 20})
	require.Equal(t, "1", s.value("let n = 1; const kept = {list: [1]}; n"))
	for name, c := range map[string]struct{ code, fault, message string }{
		"throws":         {"n = 2; kept.list.push(2); throw new RangeError('no')", "RangeError", "no"},
		"throws no one":  {"n = 2; throw {code: 5}", "Thrown", `{"code":5}`},
		"throws null":    {"n = 2; throw null", "Thrown", "null"},
		"odd error":      {"n = 2; throw {get message() { throw 1 }, name: {toString() { throw 2 }}}", "Thrown", `"[object Object]"`},
		"syntax":         {"n = 2; oh no", "SyntaxError", ""},
		"redeclares":     {"let n = 5", "SyntaxError", ""},
		"rejects":        {"n = 2; Promise.reject(new Error('later'))", "Error", "later"},
		"awaits":         {"n = 2; await new Promise(() => {})", "Unsettled", "no timers"},
		"never":          {"n = 2; new Promise(() => {})", "Unsettled", "no timers"},
		"module":         {"n = 2; await import('/etc/passwd')", "ReferenceError", ""},
		"loops":          {"n = 2; while (true);", FaultTime, "300 ms"},
		"loops in catch": {"n = 2; for (;;) { try { for (;;) n++ } catch {} finally { continue } }", FaultTime, "300 ms"},
		"jobs":           {"n = 2; const f = () => Promise.resolve().then(f); f()", FaultTime, "300 ms"},
		"builtin":        {"n = 2; Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 0)", FaultTime, "300 ms"},
		"backtracking":   {"n = 2; /(a+)+b/.exec('a'.repeat(60))", FaultTime, "300 ms"},
		"slow error":     {"n = 2; throw {get message() { for (;;); }}", FaultTime, "300 ms"},
		"slow value":     {"n = 2; ({toJSON() { for (;;); }})", FaultTime, "300 ms"},
		"buffers":        {"n = 2; const all = []; for (;;) all.push(new ArrayBuffer(1e6))", FaultMemory, "16777216 bytes"},
		"objects":        {"n = 2; let all; for (;;) all = {all, more: [1]}", FaultMemory, "16777216 bytes"},
		"strings":        {"n = 2; let all = 'x'; for (;;) all = [all + all].join()", FaultMemory, "16777216 bytes"},
		"recursion":      {"n = 2; (function f() { return f() + 1 })()", "RangeError", "call stack"},
		"nested code":    {"n = 2; eval('('.repeat(1e5))", "RangeError", "call stack"},
		"nested JSON":    {"n = 2; JSON.parse('['.repeat(1e5))", "RangeError", "call stack"},
		"nested value":   {"n = 2; let p = {}; for (let i = 0; i < 1e4; i++) p = new Proxy(p, {}); p.x", "RangeError", "call stack"},
	} {
		t.Run(name, func(t *testing.T) {
			patient := s.tool
			s := &session{t: t, tool: patient, state: map[string]json.RawMessage{StateName: s.state[StateName]}}
			if c.fault == FaultTime {
				s.tool = hasty
			}
			fault := s.fails(c.code)
			require.Equal(t, c.fault, fault.Name, "%+v", fault)
			require.Contains(t, fault.Message, c.message)
			s.tool = patient
			require.Equal(t, `[1,{"list":[1]}]`, s.value("[n, kept]"))
		})
	}
}

func TestMemoryThatIsCaughtInTimeIsGivenBack(t *testing.T) {
	s := newSession(t, Config{MemoryBytes: 16 << 20})
	for range 3 {
		require.Equal(t, `"InternalError"`, s.value("var all = []; try { for (;;) all.push(new ArrayBuffer(1e6)) } catch (e) { all = null; e.name }"))
	}
	require.Less(t, len(s.state[StateName]), 256<<10, "what was freed is not part of the state")
}

func TestAStateOverTheLimitIsNotKept(t *testing.T) {
	s := newSession(t, Config{})
	s.limit = 100_000
	s.value("let n = 1")
	fault := s.fails("n = 2; const noise = Array.from({length: 1e5}, Math.random); 0")
	require.Equal(t, FaultState, fault.Name)
	require.Contains(t, fault.Message, "stateBytes")
	require.Equal(t, "1", s.value("n"))
}

func TestOutputAndValueAreBounded(t *testing.T) {
	s := newSession(t, Config{})
	r := s.run("console.log('one', 2, {three: [3n]}); console.error('a\\nb'); undefined")
	require.Equal(t, Result{Output: []string{`one 2 {"three":["3n"]}`, "a", "b"}}, r)

	r = s.run("for (let i = 0; i < 10_000; i++) console.log('line ' + i); 'x'.repeat(300_000)")
	require.True(t, r.OutputCut)
	require.Less(t, len(strings.Join(r.Output, "\n")), outputBytes)
	require.Equal(t, "line 0", r.Output[0])
	require.True(t, r.ValueCut)
	require.Less(t, len(r.Value), valueBytes)

	r = s.run("console.log('x'.repeat(8_000_000)); console.log('after'); 0")
	require.True(t, r.OutputCut)
	require.Equal(t, []string{strings.Repeat("x", outputBytes-1)}, r.Output, "what has no room is left out, and all behind it")

	r = s.run("console.log('before'); throw new Error('y'.repeat(100_000))")
	require.Equal(t, []string{"before"}, r.Output)
	require.Less(t, len(r.Error.Message), 2*faultBytes)
}

func TestValuesThatJSONHasNot(t *testing.T) {
	s := newSession(t, Config{})
	for code, want := range map[string]string{
		"undefined": "", "null": "null", "NaN": "null", "() => 1": `"[function ]"`, "Symbol('x')": `"Symbol(x)"`, "5n": `"5n"`,
		"const a = [1]; a.push(a); a": `[1,"[circular]"]`, "const m = new Map; m.set('me', m); m": `[["me","[circular]"]]`,
		"const twice = {}; [twice, twice]": "[{},{}]", "[new Error('no')]": `["Error: no"]`, "({get a() { throw 1 }})": `"[object Object]"`,
		"let deep = 1; for (let i = 0; i < 1000; i++) deep = [deep]; deep":                         strings.Repeat("[", maxShown) + `"[deeper]"` + strings.Repeat("]", maxShown),
		"Object.create({get [Symbol.toPrimitive]() { throw 1 }}, {toJSON: {value() { throw 1 }}})": `"[unprintable]"`,
	} {
		require.Equal(t, want, s.value(code), code)
	}
}

func TestThereIsNothingOutside(t *testing.T) {
	s := newSession(t, Config{})
	for _, name := range []string{"require", "process", "std", "os", "fetch", "XMLHttpRequest", "WebSocket", "setTimeout", "setInterval", "print", "Deno", "scriptArgs", "tell"} {
		require.Equal(t, `"undefined"`, s.value("typeof "+name), name)
	}
	require.Equal(t, "true", s.value("Math.abs(Date.now() - "+fmt.Sprint(time.Now().UnixMilli())+") < 3600_000"))
	require.NotEqual(t, s.value("Math.random()"), s.restarted().value("Math.random()"))
}

func TestAStateThatDoesNotFitIsNamed(t *testing.T) {
	s := newSession(t, Config{})
	s.value("let n = 1; 0")
	good := s.state[StateName]
	var i image
	require.NoError(t, json.Unmarshal(good, &i))
	with := func(change func(*image)) json.RawMessage {
		other := i
		other.Diff = bytes.Clone(i.Diff)
		change(&other)
		raw, err := json.Marshal(other)
		require.NoError(t, err)
		return raw
	}
	for name, c := range map[string]struct {
		state json.RawMessage
		want  string
	}{
		"another's":  {json.RawMessage(`{"n":1}`), "none of this tool"},
		"no object":  {json.RawMessage(`[1]`), "none of this tool"},
		"old engine": {with(func(i *image) { i.Engine = "quickjs-0" }), "another version of the engine"},
		"too large":  {with(func(i *image) { i.Pages = 1 << 15 }), "more memory"},
		"torn":       {with(func(i *image) { i.Diff = i.Diff[:len(i.Diff)/2] }), "damaged"},
		"too long":   {with(func(i *image) { i.Pages = 0; i.Diff = deflated(t, 20<<20) }), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &session{t: t, tool: s.tool, state: map[string]json.RawMessage{StateName: c.state}}
			_, err := s.invoke(t.Context(), args{Code: "1"})
			failure, ok := errors.AsType[*tools.Failure](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, failure.Message, c.want)
			r, err := s.invoke(t.Context(), args{Code: "typeof n", Fresh: true})
			require.NoError(t, err)
			require.Equal(t, `"undefined"`, string(r.Value))
			require.Equal(t, "2", s.value("1 + 1"))
		})
	}
}

// Whatever a client puts into the state, only the cell can come to harm.
func TestANonsensicalMemoryHarmsNobody(t *testing.T) {
	s := newSession(t, Config{Timeout: time.Second})
	s.value("let n = 1; 0")
	var i image
	require.NoError(t, json.Unmarshal(s.state[StateName], &i))
	i.Diff = deflated(t, int(i.Pages)*pageBytes)
	raw, err := json.Marshal(i)
	require.NoError(t, err)
	hurt := &session{t: t, tool: s.tool, state: map[string]json.RawMessage{StateName: raw}}
	require.NotNil(t, hurt.run("n").Error)
	require.Equal(t, "1", s.value("n"))
}

func TestTheEndOfTheCallEndsTheCell(t *testing.T) {
	s := newSession(t, Config{Timeout: time.Hour, Cells: 1})
	s.value("0") // the engine is there
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 2)
	for range 2 { // one of them waits for its place
		go func() {
			_, err := (&session{t: t, tool: s.tool, state: map[string]json.RawMessage{}}).invoke(ctx, args{Code: "while (true);"})
			ended <- err
		}()
	}
	why := errors.New("cancelled")
	cancel(why)
	require.ErrorIs(t, <-ended, why)
	require.ErrorIs(t, <-ended, why)
	require.Equal(t, "2", s.value("1 + 1"))
}

func TestConfigsThatCannotBe(t *testing.T) {
	for _, c := range []Config{{MemoryBytes: 1 << 20}, {MemoryBytes: 1 << 40}, {Timeout: -1}, {Cells: -1}} {
		_, err := New(c)
		require.Equal(t, sessions.CodeInvalidRequest, sessions.CodeOf(err))
	}
	_, err := newSession(t, Config{}).tool.Invoke(t.Context(), tools.Call{Args: json.RawMessage(`{"code":"1"}`)})
	require.ErrorContains(t, err, "needs a session")
}

package scripted

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/goccy/go-yaml"

	"agenthost/oracle"
	"agenthost/sessions"
)

// Load reads a script from a YAML file; see Parse.
func Load(file string) (*Oracle, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, sessions.Errorf(sessions.CodeInvalidRequest, "The script %q cannot be read.", file).Because(err)
	}
	return Parse(data)
}

// Parse reads a script from YAML:
//
//	rules:                    # both lists are optional
//	  - when: weather         # text that the user's message contains
//	    regexp: "in \\w+$"    # and an expression that it matches
//	    steps:
//	      - calls: [{path: /builtin/time, args: {zone: UTC}}]    # args: a mapping, or raw text
//	      - {text: "It rains.", usage: {input: 12, output: 3, cached: 8}}
//	steps:                    # for calls that no rule matches, one a call
//	  - deltas: ["Hel", {after: 200ms, text: "lo"}]
//	  - {delay: 1s, text: "I can", fail: "overloaded"}
//	  - {overflow: true}      # the model's context window does not take the request
//	  - {text: "Well", hang: true}
//	  - {text: "No.", stop: refusal, repeat: true}
//
// An unknown field, an unknown stop reason and a step after a repeated one are
// errors that give the place.
func Parse(data []byte) (*Oracle, error) {
	var f fileScript
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.DisallowUnknownField()); err != nil {
		return nil, invalid("The script is no valid YAML script: %s", yaml.FormatError(err, false, false))
	}
	script, err := f.script()
	if err != nil {
		return nil, err
	}
	return Play(script), nil
}

func invalid(format string, args ...any) error {
	return sessions.Errorf(sessions.CodeInvalidRequest, format, args...)
}

type (
	fileScript struct {
		Rules []fileRule `yaml:"rules"`
		Steps []fileStep `yaml:"steps"`
	}
	fileRule struct {
		When   string     `yaml:"when"`
		Regexp string     `yaml:"regexp"`
		Steps  []fileStep `yaml:"steps"`
	}
	fileStep struct {
		Delay    time.Duration `yaml:"delay"`
		Text     string        `yaml:"text"`
		Deltas   []fileDelta   `yaml:"deltas"`
		Calls    []fileCall    `yaml:"calls"`
		Fail     string        `yaml:"fail"`
		Overflow bool          `yaml:"overflow"`
		Hang     bool          `yaml:"hang"`
		Usage    *fileUsage    `yaml:"usage"`
		Stop     string        `yaml:"stop"`
		Repeat   bool          `yaml:"repeat"`
	}
	fileDelta struct {
		After time.Duration `yaml:"after"`
		Text  string        `yaml:"text"`
	}
	fileCall struct {
		ID   string `yaml:"id"`
		Path string `yaml:"path"`
		Args any    `yaml:"args"`
	}
	fileUsage struct {
		Input  int64 `yaml:"input"`
		Output int64 `yaml:"output"`
		Cached int64 `yaml:"cached"`
	}
)

// UnmarshalYAML takes a delta without a pause as a plain string too.
func (d *fileDelta) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&d.Text) == nil {
		return nil
	}
	type plain fileDelta
	return unmarshal((*plain)(d))
}

func (f fileScript) script() (Script, error) {
	var s Script
	for i, r := range f.Rules {
		at := fmt.Sprintf("rules[%d]", i)
		re, err := regexp.Compile(r.Regexp)
		if err != nil {
			return s, invalid("%s.regexp of the script is no regular expression: %v", at, err)
		}
		steps, err := stepsOf(at+".steps", r.Steps)
		if err != nil {
			return s, err
		}
		s.Rules = append(s.Rules, Rule{When: r.When, Regexp: re, Steps: steps})
	}
	var err error
	s.Steps, err = stepsOf("steps", f.Steps)
	if err == nil && len(s.Rules)+len(s.Steps) == 0 {
		err = invalid("The script has neither rules nor steps; give it one.")
	}
	return s, err
}

func stepsOf(at string, list []fileStep) ([]Step, error) {
	var steps []Step
	for i, f := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		if i > 0 && list[i-1].Repeat {
			return nil, invalid("%s of the script is never reached: the step before it repeats.", at)
		}
		s, err := f.step(at)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func (f fileStep) step(at string) (Step, error) {
	s := Step{Delay: f.Delay, Text: f.Text, Fail: f.Fail, Overflow: f.Overflow, Hang: f.Hang, Stop: oracle.StopReason(f.Stop), Repeat: f.Repeat}
	switch s.Stop {
	case "", oracle.StopDone, oracle.StopCalls, oracle.StopLength, oracle.StopRefusal:
	default:
		return s, invalid("%s.stop of the script is %q; it is one of done, tool_calls, length, refusal.", at, f.Stop)
	}
	for _, d := range f.Deltas {
		s.Deltas = append(s.Deltas, Delta(d))
	}
	for i, c := range f.Calls {
		args, err := c.args()
		if err != nil || c.Path == "" {
			return s, invalid("%s.calls[%d] of the script needs a path, and args that are a mapping or text.", at, i)
		}
		s.Calls = append(s.Calls, Call{ID: sessions.CallID(c.ID), Path: c.Path, Args: args})
	}
	if u := f.Usage; u != nil {
		s.Usage = &sessions.Usage{InputTokens: u.Input, OutputTokens: u.Output, CachedTokens: u.Cached}
	}
	return s, nil
}

func (c fileCall) args() (string, error) {
	if text, ok := c.Args.(string); ok || c.Args == nil {
		return text, nil
	}
	data, err := json.Marshal(c.Args)
	return string(data), err
}

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"agenthost/cmd/agenthost/config"
	"agenthost/host/api"
	"agenthost/sessions"
)

// defaultListen is where clients look for a host when nothing else is said.
const defaultListen = "127.0.0.1:7777"

// greet says where the host listens, what it works with, and what to try.
func (a *app) greet(ctx context.Context, h *runningHost, c *config.Config, listeners []net.Listener) error {
	info, err := h.HostInfo(ctx, &api.HostInfoArgs{})
	if err != nil {
		return err
	}
	address := listeners[0].Addr().String()
	places := schemeOf(c) + address
	for _, listener := range listeners[1:] {
		places += " and unix:" + listener.Addr().String()
	}
	keys := ""
	if h.DemandsKeys() {
		keys = "  keys    each request needs one; commands read it from AGENTHOST_KEY or --key-file\n"
	}
	profile, oracle := firstProfile(c)
	_, err = fmt.Fprintf(a.stdout, "agenthost %s listens on %s\n  store   %s (%s)\n  oracle  %s\n%s  try     %s\n",
		info.Version, places, info.Store, durabilityText(c.Durability), oracleText(c, h.profiles[profile].Oracle.Name()), keys,
		a.invocation()+" prompt"+hostFlag(schemeOf(c), reachable(address))+profileFlag(profile)+" --target demo "+shellQuote(firstPrompt(oracle)))
	return err
}

// firstProfile returns the profile to try, and its oracle.
func firstProfile(c *config.Config) (name string, oracle config.Oracle) {
	name = sessions.DefaultProfile
	if _, ok := c.Profiles[name]; !ok {
		name = slices.Min(slices.Collect(maps.Keys(c.Profiles)))
	}
	return name, c.Oracles[c.Profiles[name].Oracle]
}

func durabilityText(d config.Durability) string {
	if d == config.DurabilityProcess {
		return "survives a kill of the process, not loss of power"
	}
	return "survives loss of power"
}

// oracleText names the oracle, and says when nobody has chosen it.
func oracleText(c *config.Config, name string) string {
	switch {
	case c.Picked == "":
		return name
	case c.Oracles[c.Picked].Provider == config.ProviderOffline:
		return name + ", as no model is configured: it answers from the conversation\n" +
			"          (OPENAI_API_KEY, ANTHROPIC_API_KEY, OLLAMA_HOST or agenthost.yaml bring one)"
	default:
		return name + ", picked by the environment"
	}
}

// firstPrompt is a prompt that makes the oracle call a tool.
func firstPrompt(o config.Oracle) string {
	if o.Provider == config.ProviderOffline {
		return "/call builtin/time {}"
	}
	return "What time is it?"
}

func hostFlag(scheme, address string) string {
	if address == defaultListen {
		return ""
	}
	return " --host " + scheme + address
}

func profileFlag(name string) string {
	if name == sessions.DefaultProfile {
		return ""
	}
	return " --profile " + shellQuote(name)
}

// shellQuote writes text as one word for a shell, in double quotes where those
// do, as they read better.
func shellQuote(text string) string {
	switch {
	case !strings.ContainsFunc(text, func(r rune) bool { return !isPlain(r) }) && text != "":
		return text
	case !strings.ContainsAny(text, "\"$`\\!\n"):
		return `"` + text + `"`
	default:
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
}

func isPlain(r rune) bool {
	return r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=@%+,", r))
}

package main

import (
	"log/slog"
	"strings"

	"agenthost/cmd/agenthost/config"
)

// settings reads the configuration: the shared flags, and those of one command.
func (a *app) settings(own ...config.Flag) (*config.Config, error) {
	flags, err := a.configFlags(own)
	if err != nil {
		return nil, err
	}
	return config.Load(config.Options{File: a.config, Env: a.env, Flags: flags})
}

// configFlags lists the flags that are settings. A flag of its own wins over
// --set, wherever they stand.
func (a *app) configFlags(own []config.Flag) ([]config.Flag, error) {
	var flags []config.Flag
	for _, text := range a.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usagef("--set %s has no value; write --set setting=value", text)
		}
		flags = append(flags, config.Flag{Name: "--set", Key: key, Value: value})
	}
	for _, flag := range append(own, config.Flag{Name: "--db", Key: "store", Value: a.db}) {
		if flag.Value != "" {
			flags = append(flags, flag)
		}
	}
	return flags, nil
}

// logger returns the log of a host that runs in this process.
func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: a.level}))
}

package main

import (
	"agenthost/actors"
	"agenthost/cmd/agenthost/config"
	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/offline"
	"agenthost/oracle/openai"
	"agenthost/oracle/scripted"
)

// oraclesOf makes the configured oracles.
func oraclesOf(c *config.Config) (map[string]oracle.Oracle, error) {
	oracles := map[string]oracle.Oracle{}
	for name, o := range c.Oracles {
		made, err := newOracle(o)
		if err != nil {
			return nil, err
		}
		oracles[name] = made
	}
	return oracles, nil
}

func newOracle(o config.Oracle) (oracle.Oracle, error) {
	switch o.Provider {
	case config.ProviderOpenAI:
		return openai.New(openai.Config{Model: o.Model, APIKey: o.APIKey.Reveal(), BaseURL: o.BaseURL})
	case config.ProviderAnthropic:
		return anthropic.New(anthropic.Config{Model: o.Model, APIKey: o.APIKey.Reveal(), BaseURL: o.BaseURL})
	case config.ProviderScripted:
		return scripted.Load(o.File)
	default: // the configuration has checked that there is no other
		return offline.New(), nil
	}
}

func policy(o config.Outcome) actors.FaultPolicy {
	if o == config.OutcomeFail {
		return actors.Fail
	}
	return actors.Report
}

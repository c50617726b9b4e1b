package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	anthropicsdk "github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	openaisdk "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"

	"agenthost/oracle"
	"agenthost/oracle/anthropic"
	"agenthost/oracle/anthropic/anthropictest"
	"agenthost/oracle/openai"
	"agenthost/oracle/openai/openaitest"
	"agenthost/oracle/provider/providertest"
)

// standIn is a model's API on the loopback interface, with both who call it: the
// official SDK by itself, and the host's adapter.
type standIn struct {
	*scene
	server *providertest.Server
	alone  func(ctx context.Context) error // one streamed call by the SDK alone
	oracle oracle.Oracle
}

// standIns start the providers' APIs.
var standIns = []func() (*standIn, error){openAI, anthropicAPI}

// model is the name in every request.
const model = "m"

// deltas are the pieces of an answer, about a token each.
func deltas() []string { return newInstant(1).deltas }

func openAI() (*standIn, error) {
	s := &standIn{scene: &scene{}}
	answer := openaitest.Text(deltas()...)
	s.server = openaitest.NewFunc(s.scene, func(openaitest.Request) openaitest.Reply { return answer })
	service := openaisdk.NewChatCompletionService(openaioption.WithBaseURL(s.server.BaseURL()), openaioption.WithMaxRetries(0))
	s.alone = func(ctx context.Context) error {
		stream := service.NewStreaming(ctx, openaisdk.ChatCompletionNewParams{
			Model:         model,
			Messages:      []openaisdk.ChatCompletionMessageParamUnion{openaisdk.UserMessage(promptText)},
			StreamOptions: openaisdk.ChatCompletionStreamOptionsParam{IncludeUsage: openaisdk.Bool(true)},
		})
		defer stream.Close()
		var text strings.Builder
		for stream.Next() {
			for _, choice := range stream.Current().Choices {
				text.WriteString(choice.Delta.Content)
			}
		}
		return whole(text.String(), stream.Err())
	}
	var err error
	s.oracle, err = openai.New(openai.Config{Name: "openai", Model: model, BaseURL: s.server.BaseURL()})
	return s, err
}

func anthropicAPI() (*standIn, error) {
	s := &standIn{scene: &scene{}}
	answer := anthropictest.Text(deltas()...)
	s.server = anthropictest.NewFunc(s.scene, func(anthropictest.Request) anthropictest.Reply { return answer })
	service := anthropicsdk.NewMessageService(anthropicoption.WithBaseURL(s.server.BaseURL()), anthropicoption.WithMaxRetries(0),
		anthropicoption.WithoutOpenTelemetry())
	s.alone = func(ctx context.Context) error {
		stream := service.NewStreaming(ctx, anthropicsdk.MessageNewParams{
			Model:        model,
			MaxTokens:    32_000,
			CacheControl: anthropicsdk.NewCacheControlEphemeralParam(),
			Messages:     []anthropicsdk.MessageParam{anthropicsdk.NewUserMessage(anthropicsdk.NewTextBlock(promptText))},
		})
		defer stream.Close()
		var text strings.Builder
		for stream.Next() {
			text.WriteString(stream.Current().Delta.Text)
		}
		return whole(text.String(), stream.Err())
	}
	var err error
	s.oracle, err = anthropic.New(anthropic.Config{Name: "anthropic", Model: model, BaseURL: s.server.BaseURL()})
	return s, err
}

// whole checks that an answer is the one that was scripted.
func whole(text string, err error) error {
	if err == nil && text != strings.Join(deltas(), "") {
		err = fmt.Errorf("the answer is %q", text)
	}
	return err
}

// scene stands where a model's server has its test: it ends the server, and
// keeps what the server finds wrong.
type scene struct {
	testing.TB

	mu    sync.Mutex
	wrong []error
	ends  []func()
}

// Helper does nothing.
func (*scene) Helper() {}

// Errorf keeps an error.
func (s *scene) Errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Errorf(format, args...))
}

// Cleanup keeps what ends the server.
func (s *scene) Cleanup(end func()) { s.ends = append(s.ends, end) }

// close ends the server and returns what it found wrong.
func (s *scene) close() error {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.wrong...)
}

package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// args are the arguments of every tool; each uses what it needs.
type args struct {
	Text string `json:"text,omitempty"`
	File string `json:"file,omitempty"`
}

// handle is what a tool does with its arguments.
type handle func(ctx context.Context, a args) (*sdk.CallToolResult, error)

// schema accepts args.
const schema = `{"type":"object","properties":{"text":{"type":"string"},"file":{"type":"string"}}}`

// New returns a server with these tools:
//
//	echo{text}        the text
//	pid               the number of the process
//	environment       its variables, a line each
//	structured        a structured result with a number of 17 digits
//	picture           a text and an image
//	fail{text}        an error result
//	refuse            an answer that is no result
//	wait{file}        waits for its cancel; makes file.began, and file.cancelled then
//	die{file}         kills the process, unless the file is there; makes it before
//	retry/die{file}   the same, and may be repeated
//	child             starts a process that sleeps, and gives its number
//	add{text}         adds a tool of that name
//	remove{text}      removes it
//	odd %name         has a name that is no path
//	elsewhere         has a schema that refers to another place
func New() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "mcptest", Version: "1"}, nil)
	add := func(name string, f handle) { s.AddTool(describe(name), handler(f)) }
	add("echo", func(_ context.Context, a args) (*sdk.CallToolResult, error) { return text(a.Text), nil })
	add("pid", func(context.Context, args) (*sdk.CallToolResult, error) { return text(strconv.Itoa(os.Getpid())), nil })
	add("environment", func(context.Context, args) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add("structured", structured)
	add("picture", picture)
	add("fail", func(_ context.Context, a args) (*sdk.CallToolResult, error) {
		result := text(a.Text)
		result.IsError = true
		return result, nil
	})
	add("refuse", func(context.Context, args) (*sdk.CallToolResult, error) {
		return nil, errors.New("a secret of the server")
	})
	add("wait", wait)
	add("die", die)
	safe := describe("retry/die")
	safe.Annotations = &sdk.ToolAnnotations{IdempotentHint: true}
	s.AddTool(safe, handler(die))
	add("child", child)
	add("odd %name", func(_ context.Context, a args) (*sdk.CallToolResult, error) { return text("odd"), nil })
	add("add", func(_ context.Context, a args) (*sdk.CallToolResult, error) {
		add(a.Text, func(context.Context, args) (*sdk.CallToolResult, error) { return text("added"), nil })
		return text("done"), nil
	})
	add("remove", func(_ context.Context, a args) (*sdk.CallToolResult, error) {
		s.RemoveTools(a.Text)
		return text("done"), nil
	})
	elsewhere := describe("elsewhere")
	elsewhere.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://elsewhere.example/a"}}}`)
	s.AddTool(elsewhere, handler(structured))
	return s
}

func describe(name string) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: "The tool " + name + ".", InputSchema: json.RawMessage(schema)}
}

func handler(f handle) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var a args
		if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
			return nil, err
		}
		return f(ctx, a)
	}
}

func text(t string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: t}}}
}

// Structured is the result of the tool structured.
const Structured = `{"count":12345678901234567,"words":["a","b"]}`

func structured(context.Context, args) (*sdk.CallToolResult, error) {
	result := text(Structured)
	result.StructuredContent = json.RawMessage(Structured)
	return result, nil
}

func picture(context.Context, args) (*sdk.CallToolResult, error) {
	result := text("Look:")
	result.Content = append(result.Content, &sdk.ImageContent{MIMEType: "image/png", Data: []byte("12345")})
	return result, nil
}

func wait(ctx context.Context, a args) (*sdk.CallToolResult, error) {
	if err := os.WriteFile(a.File+".began", nil, 0o600); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, os.WriteFile(a.File+".cancelled", nil, 0o600)
}

func die(_ context.Context, a args) (*sdk.CallToolResult, error) {
	if _, err := os.Stat(a.File); err == nil {
		return text("alive"), nil
	}
	if err := os.WriteFile(a.File, nil, 0o600); err != nil {
		return nil, err
	}
	return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func child(ctx context.Context, _ args) (*sdk.CallToolResult, error) {
	sleep := exec.CommandContext(context.WithoutCancel(ctx), "sleep", "3600")
	sleep.Stdout, sleep.Stderr = os.Stdout, os.Stderr // it holds the pipes open
	if err := sleep.Start(); err != nil {
		return nil, err
	}
	return text(strconv.Itoa(sleep.Process.Pid)), nil
}

package agentsv1

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/require"
)

// servedTypes are the SDK's types of what is served, by schema.
var servedTypes = map[string][]any{
	"Agent": {openai.Agent{}}, "AgentDeleted": {openai.AgentDeleted{}}, "Session": {openai.AgentSession{}}, "SessionAgent": {openai.AgentSessionAgent{}},
	"SessionDeleted": {openai.AgentSessionDeleted{}}, "Turn": {openai.Turn{}}, "TurnError": {openai.SessionTurnError{}}, "Subagent": {openai.Subagent{}},
	"Usage": {openai.TokenUsage{}}, "Environment": {openai.EnvironmentNone{}}, "MultiAgent": {openai.MultiAgentConfig{}}, "Reasoning": {openai.AgentReasoning{}},
	"Text": {openai.AgentText{}}, "TextFormatText": {openai.TextFormatText{}}, "TextFormatSchema": {openai.TextFormatJSONSchema{}},
	"FunctionTool":   {openai.AgentToolFunction{}, openai.PersistedAgentToolFunction{}},
	"RequiredAction": {openai.AgentSessionRequiredActionFunctionCall{}}, "Message": {openai.AgentSessionMessage{}}, "OutputText": {openai.OutputText{}},
	"FunctionCall": {openai.AgentFunctionCallItem{}}, "FunctionCallOutput": {openai.AgentSessionItemFunctionCallOutput{}}, "HostCall": {openai.AgentMcpCallItem{}},
	"InputText": {openai.InputContentInputText{}}, "InputImage": {openai.InputContentInputImage{}}, "SessionCreatedEvent": {openai.AgentSessionCreatedEvent{}},
	"SessionStatusEvent": {openai.AgentSessionInProgressEvent{}, openai.AgentSessionRequiresActionEvent{}, openai.AgentSessionIdleEvent{}, openai.AgentSessionFailedEvent{}},
	"TurnEvent":          {openai.AgentSessionTurnCreatedEvent{}, openai.AgentSessionTurnInProgressEvent{}},
	"TurnEndEvent":       {openai.AgentSessionTurnCompletedEvent{}, openai.AgentSessionTurnFailedEvent{}, openai.AgentSessionTurnCancelledEvent{}},
	"ItemAddedEvent":     {openai.AgentSessionTurnItemAddedEvent{}}, "ItemDoneEvent": {openai.AgentSessionTurnItemDoneEvent{}},
	"ContentPartEvent": {openai.AgentSessionTurnContentPartAddedEvent{}, openai.AgentSessionTurnContentPartDoneEvent{}},
	"TextDeltaEvent":   {openai.AgentSessionTurnOutputTextDeltaEvent{}}, "TextDoneEvent": {openai.AgentSessionTurnOutputTextDoneEvent{}},
	"SubagentEvent": {openai.AgentSessionSubagentCreatedEvent{}, openai.AgentSessionSubagentActiveEvent{}, openai.AgentSessionSubagentClosedEvent{}},
	"ErrorEvent":    {openai.AgentSessionErrorEvent{}}, "ErrorEventDetail": {openai.SessionError{}},
}

// sentTypes are the SDK's types of what is asked for.
var sentTypes = map[string][]any{
	"SessionCreate": {openai.BetaAgentSessionNewParams{}}, "AgentInput": {openai.BetaAgentSessionNewParamsAgent{}},
	"SessionUpdate": {openai.BetaAgentSessionUpdateParams{}}, "AgentCreate": {openai.BetaAgentNewParams{}}, "AgentUpdate": {openai.BetaAgentUpdateParams{}},
	"EventsCreate": {openai.BetaAgentSessionEventNewParams{}}, "InputMessage": {openai.AgentSessionInputMessageParam{}},
	"InputMessageEvent":    {openai.AgentSessionInputParamAgentSessionInputMessage{}},
	"InputCancelEvent":     {openai.AgentSessionInputParamAgentSessionInputCancel{}},
	"InputToolResultEvent": {openai.AgentSessionInputParamAgentSessionInputToolResult{}},
	"FunctionToolInput":    {openai.AgentToolParamFunction{}, openai.PersistedAgentToolParamFunction{}},
	"ReasoningInput":       {openai.AgentReasoningParam{}}, "TextInput": {openai.AgentTextParam{}}, "MultiAgentInput": {openai.MultiAgentConfigParam{}},
	"InputText": {openai.InputContentParamInputText{}}, "InputImage": {openai.InputContentParamInputImage{}},
}

// membersOf returns the members that a type of the SDK has, and those of them that are
// always there.
func membersOf(t reflect.Type) (all, required []string) {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		all = append(all, name)
		if _, constant := field.Tag.Lookup("default"); constant || field.Tag.Get("api") == "required" {
			required = append(required, name)
		}
	}
	return all, required
}

// What the SDK needs is served, and nothing that it does not know; what the host needs
// the SDK sends.
func TestTheDescriptionFitsTheSDK(t *testing.T) {
	d, err := description()
	require.NoError(t, err)
	each := func(types map[string][]any, judge func(t *testing.T, members, required, known, needed []string)) {
		for name, samples := range types {
			for _, sample := range samples {
				t.Run(name, func(t *testing.T) {
					schema := d.doc.Components.Schemas[name].Value
					var members []string
					for member := range schema.Properties {
						members = append(members, member)
					}
					known, needed := membersOf(reflect.TypeOf(sample))
					judge(t, members, schema.Required, known, needed)
				})
			}
		}
	}
	each(servedTypes, func(t *testing.T, members, required, known, needed []string) {
		t.Helper()
		require.Subset(t, known, members)
		require.Subset(t, required, needed)
		require.ElementsMatch(t, members, required, "no member is left out")
	})
	each(sentTypes, func(t *testing.T, members, required, known, needed []string) {
		t.Helper()
		members = slices.DeleteFunc(members, func(m string) bool { return m == "stream" }) // the SDK adds it itself
		require.Subset(t, known, members)
		require.Subset(t, needed, required)
	})
	for name, schema := range d.doc.Components.Schemas {
		if on := schema.Value.Discriminator; on != nil {
			for kind, of := range on.Mapping {
				require.True(t, servedTypes[strings.TrimPrefix(of.Ref, "#/components/schemas/")] != nil ||
					sentTypes[strings.TrimPrefix(of.Ref, "#/components/schemas/")] != nil, "%s %s", name, kind)
			}
		}
	}
}

package jupytertest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// forms are the fields that the messaging document asks for in what a kernel sends, with the type that JSON shows them as. A reply whose
// status is "error" has those of "error reply" instead, one that is "aborted" nothing but its status.
var forms = map[string]string{
	"kernel_info_reply": "status string, protocol_version string, implementation string, implementation_version string, language_info object, " +
		"banner string, help_links array, supported_features array",
	"execute_reply":       "status string, execution_count number, payload array, user_expressions object",
	"complete_reply":      "status string, matches array, cursor_start number, cursor_end number, metadata object",
	"inspect_reply":       "status string, found bool, data object, metadata object",
	"is_complete_reply":   "status string",
	"history_reply":       "status string, history array",
	"comm_info_reply":     "status string, comms object",
	"connect_reply":       "shell_port number, iopub_port number, stdin_port number, hb_port number, control_port number",
	"interrupt_reply":     "status string",
	"shutdown_reply":      "status string, restart bool",
	"error reply":         "status string, ename string, evalue string, traceback array",
	"input_request":       "prompt string, password bool",
	"status":              "execution_state string",
	"iopub_welcome":       "subscription string",
	"execute_input":       "code string, execution_count number",
	"stream":              "name string, text string",
	"display_data":        "data object, metadata object, transient object",
	"update_display_data": "data object, metadata object, transient object",
	"execute_result":      "execution_count number, data object, metadata object",
	"error":               "ename string, evalue string, traceback array",
	"clear_output":        "wait bool",
	"comm_close":          "comm_id string, data object",
}

// values are the only ones that a field may have.
var values = map[string]string{
	"status execution_state":   "busy idle starting",
	"stream name":              "stdout stderr",
	"is_complete_reply status": "complete incomplete invalid unknown error",
	"execute_reply status":     "ok error aborted",
}

var mimeType = regexp.MustCompile(`^[\w\-+.]+/[\w\-+.]+$`)

// Kinds are the types of messages that a kernel may send, sorted.
func Kinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(forms)), func(kind string) bool { return strings.Contains(kind, " ") })
}

// Check says what is wrong with the form of a message: its type is unknown, a field is missing or of another type, a MIME type has
// parameters, or null stands where frontends expect something. Every message that a [Client] gets is checked.
func (m Message) Check() error {
	form, known := forms[m.Kind]
	if !known {
		return fmt.Errorf("a kernel sends no %s", m.Kind)
	}
	status, _ := m.Content["status"].(string)
	switch {
	case status == "error":
		form = forms["error reply"]
	case m.Kind == "execute_reply" && status == "aborted":
		form = "status string"
	case m.Kind == "is_complete_reply" && status == "incomplete":
		form += ", indent string"
	case strings.HasSuffix(m.Kind, "_reply") && m.Kind != "is_complete_reply" && m.Kind != "connect_reply" && status != "ok":
		return fmt.Errorf("the status of a %s is %q", m.Kind, status)
	}
	for _, field := range strings.Split(form, ", ") {
		name, want, _ := strings.Cut(field, " ")
		value, there := m.Content[name]
		if !there {
			return fmt.Errorf("a %s lacks %s: %s", m.Kind, name, m.Body)
		}
		if got := typeOf(value); got != want {
			return fmt.Errorf("%s of a %s is a %s, not a %s: %s", name, m.Kind, got, want, m.Body)
		}
		if only := values[m.Kind+" "+name]; only != "" && !slices.Contains(strings.Fields(only), value.(string)) {
			return fmt.Errorf("%s of a %s is %v", name, m.Kind, value)
		}
	}
	if data, ok := m.Content["data"].(map[string]any); ok && m.Kind != "comm_close" {
		for mime := range data {
			if !mimeType.MatchString(mime) {
				return fmt.Errorf("a %s has the MIME type %q", m.Kind, mime)
			}
		}
	}
	// The output of an input in the history is null where it had none: so does IPython.
	if path := nullIn(m.Content); path != "" && m.Kind != "history_reply" {
		return fmt.Errorf("%s of a %s is null", path, m.Kind)
	}
	return nil
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// nullIn is the path of a null within an object, "" if there is none. What stands under a MIME type is the output's own affair.
func nullIn(object map[string]any) string {
	for name, v := range object {
		switch v := v.(type) {
		case nil:
			return name
		case map[string]any:
			if !mimeType.MatchString(name) {
				if path := nullIn(v); path != "" {
					return name + "." + path
				}
			}
		case []any:
			for i, item := range v {
				if o, ok := item.(map[string]any); ok {
					if path := nullIn(o); path != "" {
						return fmt.Sprintf("%s[%d].%s", name, i, path)
					}
				} else if item == nil {
					return fmt.Sprintf("%s[%d]", name, i)
				}
			}
		}
	}
	return ""
}

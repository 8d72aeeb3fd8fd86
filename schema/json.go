package schema

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The JSON form of a program is the one of trial.json and of the API: every field
// has its effective name, and says where the program left it anonymous.
type (
	jsonProgram struct {
		Input  jsonType `json:"input"`
		Output jsonType `json:"output"`
	}
	jsonType struct {
		Fields   []jsonField `json:"fields"`
		Pointers []string    `json:"pointers"`
	}
	jsonField struct {
		Name       string   `json:"name"`
		Anonymous  bool     `json:"anonymous,omitempty"`
		Tensor     []int    `json:"tensor,omitempty"`
		Classes    []string `json:"classes,omitempty"`
		ClassCount int      `json:"class_count,omitempty"`
	}
)

// MarshalJSON writes the program as trial.json holds it.
func (p Program) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonProgram{toJSON(Input, p.Input), toJSON(Output, p.Output)})
}

func toJSON(s Side, t Type) jsonType {
	out := jsonType{Fields: make([]jsonField, len(t.Fields)), Pointers: append([]string{}, t.Pointers...)}
	for i, name := range t.names(s) {
		f := t.Fields[i]
		j := jsonField{Name: name, Anonymous: f.Name == "", Tensor: f.Shape}
		if f.Classes != nil {
			if j.Classes = f.Classes.Labels; j.Classes == nil {
				j.ClassCount = f.Classes.Count
			}
		}
		out.Fields[i] = j
	}
	return out
}

// UnmarshalJSON reads what MarshalJSON writes and checks the limits.
func (p *Program) UnmarshalJSON(data []byte) error {
	var j jsonProgram
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("not a program: %w", err)
	}
	var out Program
	for _, side := range []struct {
		name Side
		from jsonType
		to   *Type
	}{{Input, j.Input, &out.Input}, {Output, j.Output, &out.Output}} {
		for _, f := range side.from.Fields {
			field, err := f.field()
			if err != nil {
				return fmt.Errorf("field %q of the %s: %w", f.Name, side.name, err)
			}
			side.to.Fields = append(side.to.Fields, field)
		}
		if len(side.from.Pointers) > 0 {
			side.to.Pointers = side.from.Pointers
		}
	}
	if err := Check(out); err != nil {
		return err
	}
	*p = out
	return nil
}

func (j jsonField) field() (Field, error) {
	f := Field{Name: j.Name}
	if j.Anonymous {
		f.Name = ""
	} else if j.Name == "" {
		return f, errors.New(`it has no name and is not "anonymous"`)
	}
	kinds := 0
	if j.Tensor != nil {
		f.Shape = j.Tensor
		kinds++
	}
	if j.Classes != nil {
		f.Classes = &Classes{Count: len(j.Classes), Labels: j.Classes}
		kinds++
	}
	if j.ClassCount != 0 {
		f.Classes = &Classes{Count: j.ClassCount}
		kinds++
	}
	if kinds != 1 {
		return f, errors.New(`it wants one of "tensor", "classes" and "class_count"`)
	}
	return f, nil
}

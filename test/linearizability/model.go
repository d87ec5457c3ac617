package main

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// members of a plant in JSON; a tag can be null.
type members map[string]*string

// operation is one line of a history.
type operation struct {
	Client int   `json:"client"`
	ID     int64 `json:"id"`
	// Kind is create, look-up, list, replace, patch or remove. A page of a list is one operation for each id on it.
	Kind    string  `json:"kind"`
	Body    members `json:"body,omitempty"`
	IfMatch string  `json:"ifMatch,omitempty"`
	// Milliseconds. Without a return, the operation may have an effect at any later time, or none.
	Call   float64  `json:"call"`
	Return *float64 `json:"return,omitempty"`
	// Outcome is the number of the error, otherwise the status.
	Outcome int     `json:"outcome,omitempty"`
	Answer  members `json:"answer,omitempty"`
	ETag    string  `json:"etag,omitempty"`
}

func (op *operation) isOpen() bool { return op.Return == nil }

// plant is the state of an id. The zero value means that there is no plant.
type plant struct {
	stored    bool
	name, tag string
	tagged    bool
}

func (p plant) with(changes members) plant {
	p.stored = true
	if name := changes["name"]; name != nil {
		p.name = *name
	}
	if tag, named := changes["tag"]; named {
		if p.tag, p.tagged = "", tag != nil; tag != nil {
			p.tag = *tag
		}
	}
	return p
}

func (p plant) String() string {
	switch {
	case !p.stored:
		return "no plant"
	case p.tagged:
		return fmt.Sprintf("{%s, %s}", p.name, p.tag)
	default:
		return fmt.Sprintf("{%s}", p.name)
	}
}

// input is an operation together with the plant to which the entity tag in its If-Match belongs.
type input struct {
	*operation
	matching plant
}

// perform says what the interface promises for an operation on its own: the plant afterwards, and the outcome.
func (in input) perform(before plant) (after plant, outcome int) {
	if in.Kind == "create" {
		switch wanted := (plant{}).with(in.Body); {
		case !before.stored, before == wanted:
			return wanted, 200
		default:
			return before, 40009
		}
	}
	switch {
	case !before.stored:
		return before, 40401
	case in.IfMatch != "" && in.IfMatch != "*" && before != in.matching:
		return before, 41200
	}
	switch in.Kind {
	case "look-up", "list":
		return before, 200
	case "replace":
		return (plant{}).with(in.Body), 200
	case "patch":
		return before.with(in.Body), 200
	case "remove":
		return plant{}, 204
	default:
		panic("there is no operation " + in.Kind)
	}
}

// model of a single id. An open operation returns after all others. If it is the last in an order, nobody has seen its effect.
var model = porcupine.Model{
	Init: func() interface{} { return plant{} },
	Step: func(state, in, _ interface{}) (bool, interface{}) {
		op := in.(input)
		after, outcome := op.perform(state.(plant))
		if op.isOpen() {
			return true, after
		}
		isAnswered := outcome != 200 || after == plant{}.with(op.Answer)
		return outcome == op.Outcome && isAnswered, after
	},
	DescribeOperation: func(in, _ interface{}) string { return in.(input).String() },
	DescribeState:     func(state interface{}) string { return state.(plant).String() },
}

func (in input) String() string {
	text := in.Kind
	if len(in.Body) > 0 || in.Kind == "patch" {
		text += " " + in.Body.String()
	}
	switch in.IfMatch {
	case "":
	case "*":
		text += " if there is a plant"
	default:
		text += " if it is " + in.matching.String()
	}
	switch {
	case in.isOpen():
		return text + " → no answer"
	case in.Outcome == 200:
		return fmt.Sprintf("%s → 200 %s", text, plant{}.with(in.Answer))
	default:
		return fmt.Sprintf("%s → %d", text, in.Outcome)
	}
}

func (m members) String() string {
	text := ""
	for _, key := range []string{"name", "tag"} {
		if value, named := m[key]; named && value == nil {
			text += " " + key + "=null"
		} else if named {
			text += " " + key + "=" + *value
		}
	}
	if text == "" {
		return "nothing"
	}
	return text[1:]
}

// Checks that a history of operations on plants is linearizable, id by id.
//
// The history is NDJSON on standard input. The exit status is 1 if an id has no order of its operations that explains
// their answers. Then a text, a picture and the operations of the id are written to the folder that is the argument.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// An id takes milliseconds. The timeout ends the check of a history with too many possible orders.
const timeout = 30 * time.Second

// After so many failures the rest is not checked: a service that is wrong everywhere would take hours.
const mostFailures = 5

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: linearizability <folder for failures> < history.ndjson")
		os.Exit(2)
	}
	failures, err := run(os.Stdin, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if failures > 0 {
		os.Exit(1)
	}
}

func run(history io.Reader, folder string) (failures int, err error) {
	ids, byID, err := read(history)
	if err != nil {
		return 0, err
	}
	operations := 0
	for n, id := range ids {
		if failures == mostFailures {
			fmt.Printf("%d ids are not checked\n", len(ids)-n)
			break
		}
		operations += len(byID[id])
		failure := check(id, byID[id])
		if failure == nil {
			continue
		}
		failures++
		if err := failure.write(folder); err != nil {
			return failures, err
		}
	}
	fmt.Printf("%d operations checked, %d ids are not linearizable\n", operations, failures)
	return failures, nil
}

// read returns the operations of each id, and the ids in the order in which they occur.
func read(history io.Reader) (ids []int64, byID map[int64][]*operation, err error) {
	byID = map[int64][]*operation{}
	for lines := json.NewDecoder(history); ; {
		op := new(operation)
		if err := lines.Decode(op); errors.Is(err, io.EOF) {
			return ids, byID, nil
		} else if err != nil {
			return nil, nil, err
		}
		if byID[op.ID] == nil {
			ids = append(ids, op.ID)
		}
		byID[op.ID] = append(byID[op.ID], op)
	}
}

// check returns nil if the operations of an id are linearizable.
func check(id int64, operations []*operation) *failure {
	sort.SliceStable(operations, func(i, j int) bool { return operations[i].Call < operations[j].Call })
	plants, err := plantsByTag(operations)
	f := &failure{id: id, inputs: make([]input, len(operations))}
	for i, op := range operations {
		f.inputs[i] = input{op, plants[op.IfMatch]}
	}
	if err != nil {
		f.reason = err.Error()
		return f
	}
	switch porcupine.CheckOperationsTimeout(model, historyUntil(f.inputs, math.Inf(1)), timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		f.reason = fmt.Sprintf("%s were not enough to check it", timeout)
	default:
		f.reason = "no order of the operations explains their answers"
		f.isIllegal = true
	}
	return f
}

// plantsByTag returns the plant that each entity tag came with. It fails unless equal plants have equal tags, and
// different plants different tags.
func plantsByTag(operations []*operation) (map[string]plant, error) {
	plants, tags := map[string]plant{}, map[plant]string{}
	for _, op := range operations {
		if op.ETag == "" {
			continue
		}
		current := plant{}.with(op.Answer)
		if other, known := plants[op.ETag]; known && other != current {
			return nil, fmt.Errorf("%s and %s have the entity tag %s", other, current, op.ETag)
		}
		if other, known := tags[current]; known && other != op.ETag {
			return nil, fmt.Errorf("%s has the entity tags %s and %s", current, other, op.ETag)
		}
		plants[op.ETag], tags[current] = current, op.ETag
	}
	return plants, nil
}

// historyUntil returns the operations that began before an answer arrived. Those that were still running are open, and
// return after all others.
func historyUntil(inputs []input, answer float64) (history []porcupine.Operation) {
	end := int64(0)
	for _, in := range inputs {
		if in.Call > answer {
			break
		}
		if in.isOpen() || *in.Return > answer {
			open := *in.operation
			open.Return = nil
			in.operation = &open
		}
		op := porcupine.Operation{ClientId: in.Client, Input: in, Call: nanoseconds(in.Call)}
		if !in.isOpen() {
			op.Return = nanoseconds(*in.Return)
		}
		for _, time := range []int64{op.Call, op.Return} {
			if end <= time {
				end = time + 1
			}
		}
		history = append(history, op)
	}
	for i := range history {
		if history[i].Input.(input).isOpen() {
			history[i].Return = end
		}
	}
	return history
}

func nanoseconds(milliseconds float64) int64 { return int64(milliseconds * 1e6) }

// failure is an id that is not linearizable, or could not be checked.
type failure struct {
	id int64
	// In the order of their calls.
	inputs    []input
	reason    string
	isIllegal bool
}

// write writes `<id>.txt`, `<id>.ndjson` and, if there is something to see, `<id>.html`, and says so.
func (f *failure) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	path := filepath.Join(folder, fmt.Sprint(f.id))
	summary, picture := fmt.Sprintf("id %d: %s\n", f.id, f.reason), ""
	if f.isIllegal {
		wrong, history := f.firstWrong()
		summary += f.explain(wrong)
		_, info := porcupine.CheckOperationsVerbose(model, history, timeout)
		if err := porcupine.VisualizePath(model, info, path+".html"); err != nil {
			return err
		}
		picture = ", a picture until then: " + path + ".html"
	}
	whole := summary + "\nAll operations:\n"
	for _, in := range f.inputs {
		whole += f.line(in)
	}
	if err := os.WriteFile(path+".txt", []byte(whole), 0o644); err != nil {
		return err
	}
	fmt.Printf("%sAll operations: %s.txt%s, to check again: %s.ndjson\n\n", summary, path, picture, path)
	return writeHistory(path+".ndjson", f.inputs)
}

func writeHistory(path string, inputs []input) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewEncoder(file)
	lines.SetEscapeHTML(false)
	for _, in := range inputs {
		if err := lines.Encode(in.operation); err != nil {
			return err
		}
	}
	return file.Close()
}

// firstWrong returns the first operation whose answer, when it arrived, could not be explained any more, and the history
// until then. A history that cannot be explained stays so, whatever follows.
func (f *failure) firstWrong() (input, []porcupine.Operation) {
	answered := []input{}
	for _, in := range f.inputs {
		if !in.isOpen() {
			answered = append(answered, in)
		}
	}
	sort.Slice(answered, func(i, j int) bool { return *answered[i].Return < *answered[j].Return })
	first := sort.Search(len(answered)-1, func(i int) bool {
		history := historyUntil(f.inputs, *answered[i].Return)
		return porcupine.CheckOperationsTimeout(model, history, timeout) != porcupine.Ok
	})
	return answered[first], historyUntil(f.inputs, *answered[first].Return)
}

// The number of answers that are shown before a wrong answer.
const mostBefore = 10

func (f *failure) explain(wrong input) string {
	before, meanwhile := []string{}, ""
	for _, in := range f.inputs {
		switch {
		case in == wrong:
		case !in.isOpen() && *in.Return < wrong.Call:
			before = append(before, f.line(in))
		case in.Call <= *wrong.Return:
			meanwhile += f.line(in)
		}
	}
	if len(before) > mostBefore {
		before = before[len(before)-mostBefore:]
	}
	return fmt.Sprintf("The first answer that does not fit what was answered until then (times are in milliseconds):\n%s"+
		"Before it:\n%sAt the same time:\n%s", f.line(wrong), strings.Join(before, ""), meanwhile)
}

// line describes an operation, with the milliseconds between which it ran.
func (f *failure) line(in input) string {
	start, back := f.inputs[0].Call, "..."
	if !in.isOpen() {
		back = fmt.Sprintf("%.3f", *in.Return-start)
	}
	return fmt.Sprintf("%11.3f to %11s  client %2d  %s\n", in.Call-start, back, in.Client, in)
}

// A SimSpark monitor: simspark_monitor HOST PORT [SWITCH[,SWITCH…]]
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	switches    = map[string]bool{}
	lock        sync.Mutex
	environment = map[string]float64{}
	state       = map[string]any{"time": nil, "half": nil, "score_left": nil, "score_right": nil, "play_mode": nil}
	modes       []string
	scene       *node
	fulls       int
	commands    int
)

func take(parts []any) error {
	pairs, _ := parts[0].([]any)
	for _, pair := range pairs {
		name, rest := named(pair)
		_, known := state[name]
		if switches["close-unknown"] && !known && strings.ToLower(name) == name && name != "play_modes" {
			return errors.New("unknown value " + name)
		}
		if name == "play_modes" {
			modes = strings.Fields(strings.Trim(fmt.Sprint(rest), "[]"))
		} else if len(rest) == 1 {
			number, err := strconv.ParseFloat(fmt.Sprint(rest[0]), 64)
			switch index := int(number); {
			case err != nil || switches["score-once"] && state[name] != nil && strings.HasPrefix(name, "score"):
			case name == "play_mode" && index >= 0 && (index < len(modes) || switches["die-mode"]):
				state[name] = modes[index]
			case known && name != "play_mode":
				state[name] = number
			case name[0] >= 'A' && name[0] <= 'Z':
				environment[name] = number
			}
		}
	}
	if len(parts) < 3 {
		return nil
	}
	kind, _ := named(parts[1])
	graph, _ := parts[2].([]any)
	if kind == "RSG" && !(switches["full-once"] && fulls > 1) {
		fulls++
		scene = &node{local: matrix{0: 1, 5: 1, 10: 1, 15: 1}}
		scene.take(graph, true)
	} else if kind == "RDS" && scene != nil {
		scene.take(graph, false)
	}
	return nil
}

func operate(wire io.Writer) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked struct {
			ID   any
			Op   string
			Args struct{ Command string }
		}
		json.Unmarshal(lines.Bytes(), &asked)
		answer := map[string]any{"id": asked.ID, "ok": true}
		lock.Lock()
		switch asked.Op {
		case "state":
			result := map[string]any{"environment": environment, "ball": nil}
			for name, value := range state {
				result[name] = value
			}
			if scene != nil {
				result["ball"] = scene.find(matrix{0: 1, 5: 1, 10: 1, 15: 1})
			}
			answer["result"] = result
		case "command":
			if commands++; commands == 1 || !switches["command-once"] {
				length := binary.BigEndian.AppendUint32(nil, uint32(len(asked.Args.Command)))
				wire.Write(append(length, asked.Args.Command...))
			}
		default:
			answer = map[string]any{"id": asked.ID, "ok": false, "offered": false}
		}
		lock.Unlock()
		json.NewEncoder(os.Stdout).Encode(answer)
	}
	os.Exit(0)
}

func watch(wire net.Conn) error {
	defer wire.Close()
	for from := bufio.NewReader(wire); ; {
		var text strings.Builder
		length := make([]byte, 4)
		if _, err := io.ReadFull(from, length); err != nil {
			return err
		}
		if _, err := io.CopyN(&text, from, int64(binary.BigEndian.Uint32(length))); err != nil {
			return err
		}
		parts, err := parse(text.String())
		if err != nil || len(parts) == 0 {
			continue
		}
		lock.Lock()
		err = take(parts)
		lock.Unlock()
		if err != nil {
			return err
		}
	}
}

func main() {
	for _, name := range strings.Split(strings.Join(os.Args[3:], ","), ",") {
		switches[name] = true
	}
	wire, err := net.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err == nil {
		go operate(wire)
		err = watch(wire)
	}
	fmt.Fprintln(os.Stderr, "the session ended:", err)
}

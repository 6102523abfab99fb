// The user of openroberta_lab.go: operations on standard input, and the files for updates.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

type argument struct{ Token, Path string }

// older tells whether a version, numbers between dots, comes before that of this lab.
func older(version string) bool {
	ours := strings.Split(menuVersion, ".")
	for i, part := range strings.Split(version, ".") {
		if i == len(ours) {
			return false
		}
		theirs, _ := strconv.Atoi(part)
		if own, _ := strconv.Atoi(ours[i]); theirs != own {
			return theirs < own
		}
	}
	return false
}

func file(name string, content []byte) map[string]any {
	return map[string]any{"name": name, "base64": base64.StdEncoding.EncodeToString(content)}
}

func (r *robot) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *robot) state() string {
	switch {
	case r == nil || !r.paired:
		return "unknown"
	case r.running:
		return "running"
	case r.held == 0 && time.Since(r.answered) > offlineAfter:
		return "offline"
	}
	return "waiting"
}

func operate(op string, asked argument) (any, error) {
	r := robots[asked.Token]
	if op == "update_file" {
		name, known := files[asked.Path]
		if !known {
			return nil, errors.New("no such file")
		}
		return file(name, program), nil
	}
	if op == "state" {
		result := map[string]any{"state": r.state()}
		if r != nil {
			result["battery"], result["name"] = r.data["battery"], r.data["brickname"]
			result["exitvalue"], result["update"] = r.data["nepoexitvalue"], older(fmt.Sprint(r.data["menuversion"]))
		}
		return result, nil
	}
	if r == nil || r.paired != (op != "pair") || op == "pair" && r.held == 0 {
		return nil, errors.New("no such robot")
	}
	defer r.notify()
	switch op {
	case "pair":
		r.paired = true
	case "update":
		r.command = "update"
	case "run":
		if runs++; runs == 1 || !switches["run-once"] {
			r.command = "download"
		}
		return file("program.py", program), nil
	}
	return nil, nil
}

func user() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked struct {
			ID   any
			Op   string
			Args argument
		}
		json.Unmarshal(lines.Bytes(), &asked)
		answer := map[string]any{"id": asked.ID, "ok": false, "offered": false}
		if strings.Contains(" pair run update state update_file ", " "+asked.Op+" ") {
			lock.Lock()
			result, err := operate(asked.Op, asked.Args)
			lock.Unlock()
			answer = map[string]any{"id": asked.ID, "ok": err == nil, "result": result}
			if err != nil {
				answer["error"] = err.Error()
			}
		}
		json.NewEncoder(os.Stdout).Encode(answer)
	}
	os.Exit(0)
}

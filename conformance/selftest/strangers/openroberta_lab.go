// An Open Roberta lab: openroberta_lab PORT [SWITCH[,SWITCH…]]
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	registerHold = 500 * time.Millisecond
	pushHold     = 250 * time.Millisecond
	offlineAfter = 300 * time.Millisecond
	menuVersion  = "1.10.0"
)

type robot struct {
	data            map[string]any
	paired, running bool
	command         string
	turn, held      int
	answered        time.Time
	changed         chan struct{} // closed when something has changed
}

var (
	switches = map[string]bool{}
	lock     sync.Mutex
	robots   = map[string]*robot{}
	runs     int
	program  []byte
	fields   = strings.Fields("firmwarename robot macaddr cmd firmwareversion token brickname battery menuversion")
	files    = map[string]string{"v1/runtime": "runtime.jar", "v1/ev3menu": "menu.jar"}
)

// wait holds a request until ready says so, its time is over, or its client has gone. The lock is held.
func (r *robot) wait(request *http.Request, hold time.Duration, ready func() bool) bool {
	r.held++
	for end := time.After(hold); !ready(); {
		changed, over := r.changed, false
		lock.Unlock()
		select {
		case <-changed:
		case <-end:
			over = true
		case <-request.Context().Done():
			over = true
		}
		if lock.Lock(); over {
			break
		}
	}
	r.held--
	r.answered = time.Now()
	return ready() && request.Context().Err() == nil
}

func register(request *http.Request, token string, data map[string]any) string {
	r := robots[token]
	if r == nil {
		r = &robot{changed: make(chan struct{})}
		robots[token] = r
	}
	r.data, r.paired, r.running, r.command = data, false, false, ""
	for !r.wait(request, registerHold, func() bool { return r.paired }) {
		if !switches["no-abort"] || request.Context().Err() != nil {
			return "abort"
		}
	}
	return "repeat"
}

func push(request *http.Request, r *robot, data map[string]any) (command string) {
	r.data, r.running = data, false
	r.turn++
	turn := r.turn
	if !r.wait(request, pushHold, func() bool { return r.command != "" && r.turn == turn }) {
		return "repeat"
	}
	command, r.command = r.command, ""
	r.paired = command != "update"
	return command
}

func answer(w http.ResponseWriter, request *http.Request) {
	data := map[string]any{}
	if err := json.NewDecoder(request.Body).Decode(&data); err != nil {
		if switches["die-malformed"] {
			log.Fatal("pushcmd: ", err)
		}
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if switches["close-extra"] && len(data) > len(fields)+1 || switches["close-charset"] && strings.Contains(request.Header.Get("Content-Type"), ";") {
		panic(http.ErrAbortHandler)
	}
	for _, field := range fields {
		if data[field] == nil {
			http.Error(w, "no "+field, http.StatusBadRequest)
			return
		}
	}
	lock.Lock()
	defer lock.Unlock()
	token := fmt.Sprint(data["token"])
	r, command := robots[token], data["cmd"]
	switch paired := r != nil && r.paired; {
	case request.URL.Path == "/rest/pushcmd" && command == "register":
		command = register(request, token, data)
	case request.URL.Path == "/rest/pushcmd" && command == "push" && paired:
		command = push(request, r, data)
	case request.URL.Path == "/rest/download" && paired:
		r.running = true
		w.Header().Set("Filename", "program.py")
		w.Write(program)
		return
	default:
		http.Error(w, "not registered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"cmd": command})
}

func main() {
	for _, name := range strings.Split(strings.Join(os.Args[2:], ","), ",") {
		switches[name] = true
	}
	for i := 0; i < 256; i++ {
		program = append(program, byte(i))
	}
	http.HandleFunc("POST /rest/pushcmd", answer)
	http.HandleFunc("POST /rest/download", answer)
	for path, name := range files {
		http.HandleFunc("GET /rest/update/"+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Filename", name)
			w.Write(program)
		})
	}
	go user()
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}

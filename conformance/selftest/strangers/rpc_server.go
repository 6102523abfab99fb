// A MessagePack-RPC server: rpc_server PORT [SWITCH[,SWITCH…]]
package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	switches = map[string]bool{}
	calls    atomic.Int64
)

type connection struct {
	net.Conn
	lock   sync.Mutex
	failed bool
}

func float(value any) (float64, error) {
	switch v := value.(type) {
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case float64:
		return v, nil
	}
	return 0, fmt.Errorf("%T is no number", value)
}

func subtract(arguments []any) (any, error) {
	if len(arguments) != 2 && !switches["die-few"] {
		return nil, errors.New("two arguments expected")
	}
	left, err := float(arguments[0])
	right, wrong := float(arguments[1])
	if err = errors.Join(err, wrong); err != nil {
		return nil, err
	}
	if difference := left - right; difference != float64(int64(difference)) {
		return difference, nil
	}
	return int64(left - right), nil
}

func call(method string, arguments []any) (any, error) {
	switch method {
	case "echo":
		return arguments, nil
	case "subtract":
		return subtract(arguments)
	case "nothing":
		return nil, nil
	case "sleep":
		if len(arguments) != 1 {
			return nil, errors.New("one argument expected")
		}
		seconds, err := float(arguments[0])
		time.Sleep(time.Duration(seconds * float64(time.Second)))
		return nil, err
	case "count":
		return calls.Add(1), nil
	}
	return nil, fmt.Errorf("%s failed", method)
}

func (c *connection) answer(id any, method string, arguments []any) {
	result, err := call(method, arguments)
	c.lock.Lock()
	defer c.lock.Unlock()
	number, _ := float(id)
	silent := switches["no-nil"] && method == "nothing" || switches["no-large-id"] && number > math.MaxInt32
	silent = silent || switches["none-after-error"] && c.failed
	c.failed = c.failed || err != nil
	if silent {
		return
	}
	var failure any
	if err != nil {
		failure = err.Error()
	}
	c.Write(pack([]any{int64(1), id, failure, result}))
}

func (c *connection) handle(message any) error {
	list, _ := message.([]any)
	if len(list) < 3 {
		return errors.New("no message")
	}
	id := list[1]
	kind, err := float(list[0])
	if err != nil {
		return err
	}
	if len(list) == 4 && kind == 0 {
		method, named := list[2].(string)
		arguments, listed := list[3].([]any)
		if switches["close-id-zero"] && fmt.Sprint(id) == "0" {
			return errors.New("the request has no id")
		}
		if _, err := float(id); err == nil && named && listed {
			go c.answer(id, method, arguments)
			return nil
		}
	} else if arguments, listed := list[2].([]any); listed && len(list) == 3 && kind == 2 {
		go call(fmt.Sprint(id), arguments)
		return nil
	}
	return errors.New("malformed message")
}

func (c *connection) serve() {
	defer c.Close()
	for from := bufio.NewReader(c); ; {
		message, err := read(from, 0)
		if err == nil {
			err = c.handle(message)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "the connection ends:", err)
			return
		}
	}
}

func main() {
	for _, name := range strings.Split(strings.Join(os.Args[2:], ","), ",") {
		switches[name] = true
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	for err == nil {
		var accepted net.Conn
		if accepted, err = listener.Accept(); err == nil {
			go (&connection{Conn: accepted}).serve()
		}
	}
	fmt.Fprintln(os.Stderr, err)
}

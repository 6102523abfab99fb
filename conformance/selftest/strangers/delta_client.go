// A Deltarobot client: delta_client HOST PORT [SWITCH[,SWITCH…]]
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

var (
	hello    = []byte("\x01\x30DeltaRVr\x02\x20\x01\x00\x00\x00")
	switches = map[string]bool{}
	lock     sync.Mutex
	state    = map[string]any{"curve": nil, "position": nil, "current": nil, "desired": nil}
	vectors  = map[uint16]string{0x4003: "position", 0x4007: "current", 0x4008: "desired"}
	sizes    = map[uint16]uint32{0: 1, 1: 2, 2: 4, 3: 8, 4: 16}
	ponged   bool
)

func number(contents []byte) any {
	value := float64(math.Float32frombits(binary.LittleEndian.Uint32(contents)))
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return strings.NewReplacer("+Inf", "Infinity", "-Inf", "-Infinity").Replace(fmt.Sprint(value))
	}
	return value
}

func point(contents []byte) []any {
	return []any{number(contents), number(contents[4:]), number(contents[8:])}
}

// read returns the next message; memory is taken only for the contents that have come.
func read(from *bufio.Reader) (uint16, []byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(from, head[:2]); err != nil {
		return 0, nil, err
	}
	id := binary.LittleEndian.Uint16(head)
	size := sizes[id>>12]
	if id>>12 == 15 {
		if _, err := io.ReadFull(from, head); err != nil {
			return 0, nil, err
		}
		size = binary.LittleEndian.Uint32(head)
	} else if size == 0 {
		return 0, nil, errors.New("undefined size")
	}
	var contents bytes.Buffer
	_, err := io.CopyN(&contents, from, int64(size))
	return id, contents.Bytes(), err
}

func take(connection net.Conn, id uint16, contents []byte) error {
	lock.Lock()
	defer lock.Unlock()
	switch name := vectors[id]; {
	case id == 0xF006:
		if switches["die-empty-end"] {
			fmt.Fprintf(os.Stderr, "the server ends: %c...\n", contents[0])
		}
		return io.EOF
	case id == 0x3004:
		if switches["pong-once"] && ponged || switches["no-pong-zero"] && binary.LittleEndian.Uint64(contents) == 0 {
			return nil
		}
		ponged = true
		_, err := connection.Write(append([]byte("\x05\x30"), contents...))
		return err
	case name != "":
		if switches["die-nan"] && number(contents[12:]) == "NaN" {
			panic("the unused value is not a number")
		}
		state[name] = point(contents)
	case id == 0xF009:
		if switches["close-long-curve"] && len(contents) > 1<<16 {
			return errors.New("the curve is too long")
		}
		curve := [][]any{}
		for ; len(contents) >= 12 || switches["die-odd-curve"] && len(contents) > 0; contents = contents[12:] {
			curve = append(curve, point(contents))
		}
		state["curve"] = curve
	case switches["close-unknown"]:
		return fmt.Errorf("message of unknown type %#x", id)
	}
	return nil
}

func session(connection net.Conn) error {
	defer connection.Close()
	from := bufio.NewReader(connection)
	missing := map[uint16]string{0x3001: "DeltaRVr", 0x2002: "\x01\x00\x00\x00"}
	connection.Write(hello)
	connection.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	for {
		id, contents, err := read(from)
		if expected, known := missing[id]; err == nil && len(missing) > 0 {
			if !known || expected != string(contents) {
				return errors.New("no handshake")
			}
			if ponged = false; len(missing) == 1 {
				connection.SetReadDeadline(time.Time{})
			}
			delete(missing, id)
		} else if err == nil {
			err = take(connection, id, contents)
		}
		if err != nil {
			return err
		}
	}
}

func operations() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var asked struct{ ID, Op any }
		json.Unmarshal(lines.Bytes(), &asked)
		lock.Lock()
		known := asked.Op == "state"
		answer := map[string]any{"id": asked.ID, "ok": known, "offered": known, "result": state}
		json.NewEncoder(os.Stdout).Encode(answer)
		lock.Unlock()
	}
	os.Exit(0)
}

func main() {
	for _, name := range strings.Split(strings.Join(os.Args[3:], ","), ",") {
		switches[name] = true
	}
	go operations()
	for ; ; time.Sleep(100 * time.Millisecond) {
		connection, err := net.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
		if err == nil {
			err = session(connection)
		}
		fmt.Fprintln(os.Stderr, "the connection ended:", err)
	}
}

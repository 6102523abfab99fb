// A server with github.com/ugorji/go/codec, whose MsgpackSpecRpc is a codec of net/rpc.
package main

import (
	"errors"
	"net"
	"net/rpc"
	"os"
	"sync/atomic"
	"time"

	"github.com/ugorji/go/codec"
)

type Survey struct{ calls atomic.Int64 }

// The codec gives a procedure its first argument, and drops all others.

func (s *Survey) Echo(value *any, result *any) error { *result = *value; return nil }

func (s *Survey) Subtract(value *any, result *any) error {
	return errors.New("expected two arguments")
}

func (s *Survey) Fail(value *any, result *any) error { return errors.New("this procedure fails") }

func (s *Survey) Nothing(value *any, result *any) error { *result = nil; return nil }

func (s *Survey) Sleep(value *any, result *any) error {
	switch seconds := (*value).(type) {
	case float64:
		time.Sleep(time.Duration(seconds * float64(time.Second)))
	case int64:
		time.Sleep(time.Duration(seconds) * time.Second)
	default:
		return errors.New("expected a number")
	}
	return nil
}

func (s *Survey) Count(value *any, result *any) error { *result = s.calls.Add(1); return nil }

func main() {
	var handle codec.MsgpackHandle
	handle.RawToString = true
	handle.WriteExt = true
	rpc.RegisterName("Survey", &Survey{})
	listening, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listening.Accept()
		if err != nil {
			panic(err)
		}
		go rpc.ServeCodec(codec.MsgpackSpecRpc.ServerCodec(connection, &handle))
	}
}

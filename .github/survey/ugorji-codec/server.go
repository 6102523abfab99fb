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

func (s *Survey) Echo(given []any, result *any) error { *result = given; return nil }

func (s *Survey) Subtract(given []float64, result *any) error {
	if len(given) != 2 {
		return errors.New("expected two numbers")
	}
	*result = given[0] - given[1]
	return nil
}

func (s *Survey) Fail(given []any, result *any) error { return errors.New("this procedure fails") }

func (s *Survey) Nothing(given []any, result *any) error { *result = nil; return nil }

func (s *Survey) Sleep(given []float64, result *any) error {
	time.Sleep(time.Duration(given[0] * float64(time.Second)))
	return nil
}

func (s *Survey) Count(given []any, result *any) error { *result = s.calls.Add(1); return nil }

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

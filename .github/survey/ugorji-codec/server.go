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

type given = codec.MsgpackSpecRpcMultiArgs // all arguments of a call

func number(value any) (float64, error) {
	switch known := value.(type) {
	case int64:
		return float64(known), nil
	case uint64:
		return float64(known), nil
	case float64:
		return known, nil
	}
	return 0, errors.New("expected a number")
}

func (s *Survey) Echo(values given, result *any) error { *result = []any(values); return nil }

func (s *Survey) Subtract(values given, result *any) error {
	if len(values) != 2 {
		return errors.New("expected two numbers")
	}
	first, err := number(values[0])
	if err != nil {
		return err
	}
	second, err := number(values[1])
	if err != nil {
		return err
	}
	*result = first - second
	return nil
}

func (s *Survey) Fail(values given, result *any) error { return errors.New("this procedure fails") }

func (s *Survey) Nothing(values given, result *any) error { *result = nil; return nil }

func (s *Survey) Sleep(values given, result *any) error {
	if len(values) != 1 {
		return errors.New("expected a number")
	}
	seconds, err := number(values[0])
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	return err
}

func (s *Survey) Count(values given, result *any) error { *result = s.calls.Add(1); return nil }

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

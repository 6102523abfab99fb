// MessagePack for rpc_server.go.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

type pair struct{ key, value any }
type table []pair

// uintOf reads an unsigned integer of so many bytes.
func uintOf(from *bufio.Reader, size int) (value uint64, err error) {
	for ; size > 0 && err == nil; size-- {
		var next byte
		next, err = from.ReadByte()
		value = value<<8 | uint64(next)
	}
	return value, err
}

func items(from *bufio.Reader, size uint64, depth int) (list []any, err error) {
	list = []any{}
	for ; size > 0 && err == nil; size-- {
		var item any
		if item, err = read(from, depth+1); err == nil {
			list = append(list, item)
		}
	}
	return list, err
}

func read(from *bufio.Reader, depth int) (any, error) {
	first, err := from.ReadByte()
	if err != nil || depth > 500 {
		return nil, errors.Join(err, errors.New("no more"))
	}
	var size uint64
	kind := first
	switch {
	case first < 0x80 || first >= 0xe0:
		return int64(int8(first)), nil
	case first < 0xa0:
		kind, size = first&0xf0, uint64(first&15)
	case first < 0xc0:
		kind, size = 0xa0, uint64(first&31)
	case first >= 0xd9 && first <= 0xdb:
		kind = 0xa0
		size, err = uintOf(from, 1<<(first-0xd9))
	case first >= 0xc4 && first <= 0xc6:
		kind = 0xc4
		size, err = uintOf(from, 1<<(first-0xc4))
	case first >= 0xdc:
		kind = 0x90 - (first-0xdc)/2*16
		size, err = uintOf(from, 2<<(first&1))
	case first == 0xca || first == 0xcb:
		size, err = uintOf(from, 4<<(first-0xca))
	case first >= 0xcc && first <= 0xd3:
		size, err = uintOf(from, 1<<(first&3))
	}
	if err != nil {
		return nil, err
	}
	switch kind {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return first == 0xc3, nil
	case 0xca:
		return float64(math.Float32frombits(uint32(size))), nil
	case 0xcb:
		return math.Float64frombits(size), nil
	case 0xcc, 0xcd, 0xce, 0xcf:
		return size, nil
	case 0xd0, 0xd1, 0xd2, 0xd3:
		unused := 64 - 8<<(first&3)
		return int64(size<<unused) >> unused, nil
	case 0xa0, 0xc4:
		var text strings.Builder
		if _, err = io.CopyN(&text, from, int64(size)); kind == 0xc4 {
			return []byte(text.String()), err
		}
		return text.String(), err
	case 0x90:
		return items(from, size, depth)
	case 0x80:
		list, err := items(from, 2*size, depth)
		pairs := table{}
		for ; err == nil && len(list) > 0; list = list[2:] {
			if switches["die-key"] {
				_ = list[0].(string)
			}
			pairs = append(pairs, pair{list[0], list[1]})
		}
		return pairs, err
	}
	return nil, fmt.Errorf("cannot read %#x", first)
}

func head(first byte, size int) []byte {
	return binary.BigEndian.AppendUint32([]byte{first}, uint32(size))
}

func pack(value any) []byte {
	switch v := value.(type) {
	case bool:
		return []byte{map[bool]byte{false: 0xc2, true: 0xc3}[v]}
	case int64:
		return binary.BigEndian.AppendUint64([]byte{0xd3}, uint64(v))
	case uint64:
		return binary.BigEndian.AppendUint64([]byte{0xcf}, v)
	case float64:
		return binary.BigEndian.AppendUint64([]byte{0xcb}, math.Float64bits(v))
	case string:
		return append(head(0xdb, len(v)), v...)
	case []byte:
		return append(head(0xc6, len(v)), v...)
	case []any:
		bytes := head(0xdd, len(v))
		for _, item := range v {
			bytes = append(bytes, pack(item)...)
		}
		return bytes
	case table:
		bytes := head(0xdf, len(v))
		for _, each := range v {
			bytes = append(append(bytes, pack(each.key)...), pack(each.value)...)
		}
		return bytes
	}
	return []byte{0xc0}
}

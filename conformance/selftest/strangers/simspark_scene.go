// S-expressions and scene graphs for simspark_monitor.go.
package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

type matrix [16]float64 // by columns, as on the wire

type node struct {
	local    matrix
	ball     bool
	children []*node
}

var token = regexp.MustCompile(`[()]|[^\s()]+`)

// parse returns the expressions of a text: strings, and lists of expressions.
func parse(text string) ([]any, error) {
	open := [][]any{nil}
	for _, word := range token.FindAllString(text, -1) {
		last := len(open) - 1
		switch {
		case word == "(":
			open = append(open, []any{})
		case word == ")" && last == 0:
			return nil, errors.New("unbalanced")
		case word == ")":
			open[last-1] = append(open[last-1], open[last])
			open = open[:last]
		default:
			open[last] = append(open[last], word)
		}
	}
	if len(open) > 1 {
		return nil, errors.New("unbalanced")
	}
	return open[0], nil
}

// named returns the name that a list begins with, and what follows it.
func named(expression any) (string, []any) {
	if list, _ := expression.([]any); len(list) > 0 {
		name, _ := list[0].(string)
		return name, list[1:]
	}
	return "", nil
}

func (n *node) take(parts []any, full bool) {
	children := 0
	for _, part := range parts {
		switch name, rest := named(part); name {
		case "nd":
			if full {
				n.children = append(n.children, &node{local: matrix{0: 1, 5: 1, 10: 1, 15: 1}})
			}
			if children < len(n.children) || switches["die-shape"] {
				n.children[children].take(rest, full)
			}
			children++
		case "SLT":
			for i := 0; i < 16 && i < len(rest); i++ {
				n.local[i], _ = strconv.ParseFloat(fmt.Sprint(rest[i]), 64)
			}
		case "load":
			n.ball = n.ball || strings.Contains(fmt.Sprint(rest...), "soccerball")
		}
	}
}

// find returns the position of the ball below a node whose pose is given.
func (n *node) find(pose matrix) []float64 {
	var product matrix
	for i := range product {
		for k := 0; k < 4; k++ {
			product[i] += pose[4*k+i%4] * n.local[i/4*4+k]
		}
	}
	if n.ball {
		return product[12:15]
	}
	for _, child := range n.children {
		if found := child.find(product); found != nil {
			return found
		}
	}
	return nil
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

func main() {
	for position := os.Args[1]; ; time.Sleep(time.Second) {
		position = follow(position)
	}
}

// follow prints the changes after a position until the stream ends, and returns the last position.
func follow(position string) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	silence := time.AfterFunc(45*time.Second, cancel)
	request, err := http.NewRequestWithContext(ctx, "GET", os.Getenv("PLANT_STORE_URL")+"/changes?after="+position, nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("PLANT_STORE_TOKEN"))
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return position
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case 200:
	case 429, 502, 503, 504:
		return position
	default:
		log.Fatal(response.Status)
	}
	for events := bufio.NewReader(response.Body); ; silence.Reset(45 * time.Second) {
		line, err := events.ReadString('\n')
		if err != nil {
			return position
		}
		data, isData := strings.CutPrefix(line, "data:")
		if !isData {
			continue
		}
		var change struct {
			Position json.Number
			Kind     string
			Id       int64
		}
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			log.Fatal(err)
		}
		fmt.Println(change.Position, change.Kind, change.Id)
		position = change.Position.String()
	}
}

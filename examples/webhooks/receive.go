package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	maxBody   = 1_000_000
	tolerance = 5 * time.Minute
)

var key []byte

func main() {
	secret := strings.TrimPrefix(os.Getenv("PLANT_STORE_WEBHOOK_SECRET"), "whsec_")
	var err error
	if key, err = base64.StdEncoding.DecodeString(secret); err != nil || len(key) == 0 {
		log.Fatal("PLANT_STORE_WEBHOOK_SECRET is missing or wrong")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "4000"
	}
	log.Fatal(http.ListenAndServe(":"+port, http.HandlerFunc(receive)))
}

func receive(response http.ResponseWriter, request *http.Request) {
	// The signature is of these bytes: JSON that is written again may have others.
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBody))
	if err != nil {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	var message struct {
		Type string
		Data json.RawMessage
	}
	if !isGenuine(request.Header, body) || json.Unmarshal(body, &message) != nil {
		response.WriteHeader(http.StatusBadRequest)
		return
	}
	// It may come again: store its id together with what you do, before you respond.
	fmt.Printf("%s %s %s\n", request.Header.Get("webhook-id"), message.Type, message.Data)
	response.WriteHeader(http.StatusNoContent)
}

func isGenuine(header http.Header, body []byte) bool {
	timestamp := header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// Others could send an old message again.
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", header.Get("webhook-id"), timestamp, body)
	expected := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	// There are two while the secret is replaced.
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(expected)) {
			return true
		}
	}
	return false
}

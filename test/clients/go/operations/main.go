// Command operations makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (go), and prints each
// answer, or the status and the Error of a refusal, as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"
	"strings"

	"plantstore-clients/generated/openapigenerator"
)

type call struct {
	Tag       string
	Operation string
	Token     string
	Below     string
	Id        *int64
	Body      json.RawMessage
}

func main() {
	var calls []call
	if err := json.Unmarshal([]byte(os.Getenv("PLANT_STORE_CALLS")), &calls); err != nil {
		log.Fatal(err)
	}
	for _, c := range calls {
		answer, err := json.Marshal(c.answer())
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(answer))
	}
}

func (c call) answer() any {
	configuration := openapigenerator.NewConfiguration()
	configuration.Servers = openapigenerator.ServerConfigurations{{URL: os.Getenv("PLANT_STORE_URL") + c.Below}}
	client := openapigenerator.NewAPIClient(configuration)
	token := c.Token
	if token == "" {
		token = os.Getenv("PLANT_STORE_TOKEN")
	}
	ctx := context.WithValue(context.Background(), openapigenerator.ContextAccessToken, token)
	name := ""
	for _, word := range strings.Split(c.Tag, "-") {
		name += capital(word)
	}
	api := reflect.ValueOf(client).Elem().FieldByName(name + "API")
	arguments := []reflect.Value{reflect.ValueOf(ctx)}
	if c.Id != nil {
		arguments = append(arguments, reflect.ValueOf(*c.Id))
	}
	request := api.MethodByName(capital(c.Operation)).Call(arguments)[0]
	if c.Body != nil {
		request = withBody(request, c.Body)
	}
	results := request.MethodByName("Execute").Call(nil)
	if err := results[len(results)-1]; !err.IsNil() {
		var refusal *openapigenerator.GenericOpenAPIError
		if !errors.As(err.Interface().(error), &refusal) {
			log.Fatalf("%s: %v", c.Operation, err.Interface())
		}
		failure := refusal.Model().(openapigenerator.Error)
		status := results[len(results)-2].Interface().(*http.Response).StatusCode
		return map[string]any{"status": status, "error": failure.Error, "message": failure.Message}
	}
	if len(results) < 3 {
		return nil
	}
	return results[0].Interface()
}

// withBody calls the only method that takes a model, or the method Body, which takes text.
func withBody(request reflect.Value, body json.RawMessage) reflect.Value {
	for i := range request.NumMethod() {
		method := request.Method(i)
		isBody := request.Type().Method(i).Name == "Body"
		if method.Type().NumIn() != 1 || !isBody && method.Type().In(0).Kind() != reflect.Struct {
			continue
		}
		value := reflect.New(method.Type().In(0))
		if err := json.Unmarshal(body, value.Interface()); err != nil {
			log.Fatal(err)
		}
		return method.Call([]reflect.Value{value.Elem()})[0]
	}
	log.Fatal("no method takes the body")
	return request
}

func capital(word string) string {
	return strings.ToUpper(word[:1]) + word[1:]
}

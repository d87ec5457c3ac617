// Command oapicodegen makes the calls that clients.test.ts expects, with the client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"

	"plantstore-clients/generated/oapicodegen"
)

type store struct {
	*oapicodegen.ClientWithResponses
}

func main() {
	url, token := os.Getenv("PLANT_STORE_URL"), os.Getenv("PLANT_STORE_TOKEN")
	s := storeAt(url, token)
	indoor, desert := "indoor", "desert"
	s.create(9007199254740993, "Se\u0301nec\u0327on \U0001F335", nil)
	s.get(9007199254740993)
	s.create(math.MinInt64, "Ficus", &indoor)
	s.get(math.MinInt64)
	s.create(math.MaxInt64, "Aloe", &desert)
	s.get(math.MaxInt64)

	s.create(9007199254740993, "Monstera", nil)
	s.create(1, "\x00", nil)
	storeAt(url, "not-a-token").create(1, "Monstera", nil)
	s.get(404)
	storeAt(url+"/nowhere", token).create(1, "Monstera", nil)
}

func storeAt(url, token string) store {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	client, err := oapicodegen.NewClientWithResponses(url, oapicodegen.WithRequestEditorFn(authorize))
	if err != nil {
		log.Fatal(err)
	}
	return store{client}
}

func (s store) create(id int64, name string, tag *string) {
	newPlant := oapicodegen.NewPlant{Id: id, Name: name, Tag: tag}
	answer, err := s.CreatePlantWithResponse(context.Background(), nil, newPlant)
	if err != nil {
		log.Fatal(err)
	}
	if plant := answer.JSON200; plant != nil {
		fmt.Printf("created %s, %s\n", plant.Name, orNull(plant.Tag))
		return
	}
	refused(answer.StatusCode(), answer.JSON400, answer.JSON401, answer.JSONDefault)
}

func (s store) get(id int64) {
	answer, err := s.GetPlantWithResponse(context.Background(), id, nil)
	if err != nil {
		log.Fatal(err)
	}
	if plant := answer.JSON200; plant != nil {
		fmt.Printf("stored %d %s, %s\n", plant.Id, plant.Name, orNull(plant.Tag))
		return
	}
	refused(answer.StatusCode(), answer.JSON404)
}

func refused(status int, failures ...*oapicodegen.Error) {
	for _, failure := range failures {
		if failure != nil {
			fmt.Printf("refused %d %d %s\n", status, failure.Error, failure.Message)
			return
		}
	}
	log.Fatalf("no Error in the answer %d", status)
}

func orNull(tag *string) string {
	if tag == nil {
		return "null"
	}
	return *tag
}

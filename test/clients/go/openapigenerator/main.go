// Command openapigenerator makes the calls that clients.test.ts expects, with the client of openapi-generator (go).
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"net/http"
	"os"

	"plantstore-clients/generated/openapigenerator"
)

type store struct {
	client *openapigenerator.APIClient
	token  string
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
	configuration := openapigenerator.NewConfiguration()
	configuration.Servers = openapigenerator.ServerConfigurations{{URL: url}}
	return store{openapigenerator.NewAPIClient(configuration), token}
}

func (s store) context() context.Context {
	return context.WithValue(context.Background(), openapigenerator.ContextAccessToken, s.token)
}

func (s store) create(id int64, name string, tag *string) {
	newPlant := openapigenerator.NewPlantRequest(id, name)
	newPlant.Tag = tag
	plant, response, err := s.client.PlantsAPI.CreatePlant(s.context()).PlantRequest(*newPlant).Execute()
	if err != nil {
		refused(response, err)
		return
	}
	fmt.Printf("created %s, %s\n", plant.GetName(), orNull(plant.Tag))
}

func (s store) get(id int64) {
	plant, response, err := s.client.PlantsAPI.GetPlant(s.context(), id).Execute()
	if err != nil {
		refused(response, err)
		return
	}
	fmt.Printf("stored %d %s, %s\n", plant.GetId(), plant.GetName(), orNull(plant.Tag))
}

func refused(response *http.Response, err error) {
	var refusal *openapigenerator.GenericOpenAPIError
	if !errors.As(err, &refusal) {
		log.Fatal(err)
	}
	failure := refusal.Model().(openapigenerator.Error)
	fmt.Printf("refused %d %d %s\n", response.StatusCode, failure.GetError(), failure.GetMessage())
}

func orNull(tag *string) string {
	if tag == nil {
		return "null"
	}
	return *tag
}

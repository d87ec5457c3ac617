package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	client "example.com/garden/client"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("PLANT_STORE_URL")}}
	store := client.NewAPIClient(configuration).PlantsAPI
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("PLANT_STORE_TOKEN"))

	monstera := client.PlantRequest{Id: 9007199254740993, Name: "Monstera", Tag: client.PtrString("office")}
	_, _, err := store.CreatePlant(ctx).PlantRequest(monstera).Execute()
	check(err)
	plant, _, err := store.GetPlant(ctx, monstera.Id).Execute()
	check(err)
	fmt.Println(plant.Name)
	request := store.ListPlants(ctx).Tag("office")
	for {
		plants, response, err := request.Execute()
		check(err)
		for _, plant := range plants {
			fmt.Println(plant.Id, plant.Name)
		}
		if response.Header.Get("Link") == "" {
			break
		}
		request = request.After(plants[len(plants)-1].Id)
	}
	ficus := client.PlantRequest{Id: monstera.Id, Name: "Ficus"}
	_, _, err = store.CreatePlant(ctx).PlantRequest(ficus).Execute()
	check(err)
}

func check(err error) {
	var rejection *client.GenericOpenAPIError
	if errors.As(err, &rejection) {
		if problem, ok := rejection.Model().(client.Error); ok && problem.Error == 40009 {
			fmt.Println(problem.Message)
			return
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

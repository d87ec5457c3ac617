import { headersOf, PLACEHOLDERS } from './request.js';

const FAIL = `	if err != nil {
		log.Fatal(err)
	}`;

/** The request with Go's own library. */
export function goSample(request) {
  const { method, path, body } = request;
  const url = JSON.stringify(PLACEHOLDERS.base + path);
  const headers = headersOf(request).map(
    ([name, value]) => `	request.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(value)})\n`,
  );
  return `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
${body ? `	"${body.text === undefined ? 'os' : 'strings'}"\n` : ''})

func main() {
${body ? bodyOf(body) : ''}	request, err := http.NewRequest("${method}", ${url}, ${body ? 'body' : 'nil'})
${FAIL}
${headers.join('')}	response, err := http.DefaultClient.Do(request)
${FAIL}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
${FAIL}
	fmt.Println(response.StatusCode, string(content))
}`;
}

function bodyOf({ text, file }) {
  return text === undefined
    ? `	body, err := os.Open(${JSON.stringify(file)})\n${FAIL}\n`
    : `	body := strings.NewReader(${literal(text)})\n`;
}

/** A literal in back quotes takes every character as it is, except these. None can have a byte order mark. */
function literal(text) {
  return /[\x60\r\uFEFF]/.test(text)
    ? JSON.stringify(text).replaceAll('\uFEFF', String.raw`\ufeff`)
    : `\`${text}\``;
}

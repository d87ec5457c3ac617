/* global SwaggerUIBundle */

import { indentedJson } from './indented-json.js';
import { currentToken, forgetToken, keepToken } from './kept-token.js';

const token = currentToken();

/**
 * What is entered and forgotten here is the token of the docs page. Swagger UI itself would keep it for all tabs, also if the reader
 * wants it in this tab only, and would stop where the browser keeps nothing.
 */
const sharedToken = {
  statePlugins: {
    auth: {
      wrapActions: {
        persistAuthorizationIfNeeded:
          (_original, { authSelectors }) =>
          () => {
            const value = authSelectors.authorized().getIn(['bearerAuth', 'value']);
            if (value) keepToken(value);
            else forgetToken();
          },
      },
    },
  },
};

/** Swagger UI has no field for these items of an array, and would report each of them as a fault. */
const fieldsOfIds = ({ React, getComponent }) => {
  const field = (properties) => React.createElement(getComponent('JsonSchema_string'), properties);
  return { components: { JsonSchema_integer_int64: field, JsonSchema_string_uuid: field } };
};

/** Swagger UI would parse JSON, and so round integers beyond 2^53. Other text it shows as it is. */
const exactResponses = {
  wrapComponents: {
    responseBody:
      (Original, { React }) =>
      (properties) => {
        const { content, contentType } = properties;
        const isJson = typeof content === 'string' && /[/+]json\b/.test(contentType);
        const exact = isJson ? { content: indentedJson(content), contentType: 'text' } : {};
        return React.createElement(Original, { ...properties, ...exact });
      },
  },
};

// Absolute, because the addresses of the servers are resolved against it.
const url = new URL('../openapi.json', document.baseURI).href;

/** Where Swagger UI takes text as it is. */
const TAKEN_AS_TEXT = new Set(['value', 'example', 'default', 'const']);

/**
 * Swagger UI parses the document, too, so integers of at least 16 digits become text. Limits are left out: Swagger UI would compare
 * their text with what is typed, letter by letter. Descriptions have their digits.
 */
function withExactIntegers(response) {
  if (response.url !== url) return response;
  const text = response.text.replaceAll(/"(\w+)": ?(-?\d{16,})/g, (_, key, digits) => {
    if (['minimum', 'maximum'].includes(key)) return `"x-${key}": "${digits}"`;
    return `"${key}": "${digits}${TAKEN_AS_TEXT.has(key) ? '' : 'n'}"`;
  });
  return Object.assign(response, { text });
}

/** Properties in examples are shown and sent as integers again. */
const exactExamples = {
  afterLoad({ fn: { getSampleSchema } }) {
    this.fn.getSampleSchema = (...parameters) => {
      const sample = getSampleSchema(...parameters);
      return typeof sample === 'string' ? sample.replaceAll(/"(-?\d{16,})n"/g, '$1') : sample;
    };
  },
};

const ui = SwaggerUIBundle({
  dom_id: '#swagger-ui',
  url,
  responseInterceptor: withExactIntegers,
  deepLinking: true,
  // By default a service on the internet is asked whether the document is valid.
  validatorUrl: 'none',
  plugins: [sharedToken, fieldsOfIds, exactResponses, exactExamples],
  onComplete() {
    if (token !== undefined) ui.preauthorizeApiKey('bearerAuth', token);
  },
});

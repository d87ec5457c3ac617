/* global SwaggerUIBundle */

import { indentedJson } from './indented-json.js';
import { currentToken, forgetToken, keeperOfToken } from './kept-token.js';
import { keepsData } from './storage.js';

const token = currentToken();
// Swagger UI would stop at what is no token.
if (token === undefined) forgetToken();

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

/** As text, limits beyond 2^53 are not shown. Swagger UI would round them; descriptions have their digits. */
function withExactLimits(response) {
  if (response.url !== url) return response;
  const text = response.text.replaceAll(/("(?:minimum|maximum)": ?)(-?\d{16,})/g, '$1"$2"');
  return Object.assign(response, { text });
}

const ui = SwaggerUIBundle({
  dom_id: '#swagger-ui',
  url,
  responseInterceptor: withExactLimits,
  deepLinking: true,
  // The token is shared with the docs page. Swagger UI would stop where the browser keeps nothing.
  persistAuthorization: keepsData(),
  // By default a service on the internet is asked whether the document is valid.
  validatorUrl: 'none',
  plugins: [fieldsOfIds, exactResponses],
  onComplete() {
    // It does not look for it there.
    if (token !== undefined && keeperOfToken() === 'tab')
      ui.preauthorizeApiKey('bearerAuth', token);
  },
});

/* global SwaggerUIBundle */

import { currentToken, forgetToken } from './kept-token.js';
import { keepsData } from './storage.js';

// Swagger UI would stop at what is no token.
if (currentToken() === undefined) forgetToken();

/** Swagger UI has no field for these items of an array, and would report each of them as a fault. */
const fieldsOfIds = ({ React, getComponent }) => {
  const field = (properties) => React.createElement(getComponent('JsonSchema_string'), properties);
  return { components: { JsonSchema_integer_int64: field, JsonSchema_string_uuid: field } };
};

SwaggerUIBundle({
  dom_id: '#swagger-ui',
  // Absolute, because the addresses of the servers are resolved against it.
  url: new URL('../openapi.json', document.baseURI).href,
  deepLinking: true,
  // The token is shared with the docs page. Swagger UI would stop where the browser keeps nothing.
  persistAuthorization: keepsData(),
  // By default a service on the internet is asked whether the document is valid.
  validatorUrl: 'none',
  plugins: [fieldsOfIds],
});

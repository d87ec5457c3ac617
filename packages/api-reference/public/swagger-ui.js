/* global SwaggerUIBundle */

import { currentToken, forgetToken } from './kept-token.js';

// Swagger UI would stop at what is no token.
if (currentToken() === undefined) forgetToken();

SwaggerUIBundle({
  dom_id: '#swagger-ui',
  // Absolute, because the addresses of the servers are resolved against it.
  url: new URL('../openapi.json', document.baseURI).href,
  deepLinking: true,
  // The token is shared with the docs page.
  persistAuthorization: true,
  // By default a service on the internet is asked whether the document is valid.
  validatorUrl: 'none',
});

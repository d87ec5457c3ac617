import { html } from './html.js';

/** Swagger UI as it is, for those who look for it. */
export function renderSwaggerUi(): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Plant Store · Swagger UI</title>
        <link rel="icon" type="image/svg+xml" href="icon.svg" />
        <link rel="stylesheet" href="swagger-ui.css" />
      </head>
      <body>
        <div id="swagger-ui"></div>
        <script src="swagger-ui-bundle.js"></script>
        <script src="swagger-ui.js"></script>
      </body>
    </html> `.source;
}

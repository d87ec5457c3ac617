/* global SwaggerUIBundle */

/*
 * Swagger UI reads JSON into JavaScript numbers, which hold integers up to 2^53 only. Ids of plants
 * go up to 2^63 - 1, so the page shows text where Swagger UI shows numbers.
 */

/** Shows the body of an answer as it came. */
function ExactAnswers({ React }) {
  return {
    wrapComponents: {
      responseBody:
        () =>
        ({ content, getComponent }) =>
          React.createElement(
            'div',
            null,
            React.createElement('h5', null, 'Response body'),
            React.createElement(
              getComponent('HighlightCode', true),
              { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true },
              content,
            ),
          ),
    },
  };
}

/** Shows the limits of integers as they stand in the document. */
function ExactLimits({ React, specSelectors }) {
  return {
    wrapComponents: {
      JSONSchema202012KeywordConstraint: (Constraint) => (props) => {
        const { constraint } = props;
        const written = new Map(
          [...specSelectors.specStr().matchAll(/-?\d{16,}/g)].map(([digits]) => [
            String(Number(digits)),
            digits,
          ]),
        );
        const value = constraint.value.replace(
          /-?\d{16,}/g,
          (rounded) => written.get(rounded) ?? rounded,
        );
        return React.createElement(Constraint, { ...props, constraint: { ...constraint, value } });
      },
    },
  };
}

function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}

followColorScheme();
SwaggerUIBundle({
  dom_id: '#swagger-ui',
  // Absolute, because Swagger UI resolves the addresses of the servers and of links against it.
  url: new URL('openapi.json', document.baseURI).href,
  plugins: [ExactAnswers, ExactLimits],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  // By default it asks a service on the internet whether the document is valid.
  validatorUrl: 'none',
});

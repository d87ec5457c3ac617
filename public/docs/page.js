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
  const exact = (text) => {
    const written = new Map(
      [...specSelectors.specStr().matchAll(/-?\d{16,}/g)].map(([digits]) => [
        String(Number(digits)),
        digits,
      ]),
    );
    return text.replace(/-?\d{16,}/g, (rounded) => written.get(rounded) ?? rounded);
  };
  return {
    wrapComponents: {
      JSONSchema202012KeywordConstraint: (Constraint) => (props) => {
        const { constraint } = props;
        return React.createElement(Constraint, {
          ...props,
          constraint: { ...constraint, value: exact(constraint.value) },
        });
      },
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          validationErrors:
            (validationErrors) =>
            (_state, ...operation) =>
              validationErrors(...operation).map(exact),
        },
      },
    },
  };
}

/** Takes the token however it was copied, and forgets it with everything that shows it. */
function Token() {
  return {
    statePlugins: {
      auth: {
        wrapActions: {
          authorizeWithPersistOption:
            (authorize) =>
            ({ bearerAuth }) => {
              const value = bearerAuth?.value?.trim().replace(/^bearer\s+/i, '');
              if (value) authorize({ bearerAuth: { ...bearerAuth, value } });
            },
          logoutWithPersistOption: (logOut) => (names) => {
            logOut(names);
            location.reload();
          },
        },
      },
    },
  };
}

/** What another tab does with the token holds for this one, too. */
function followOtherTabs() {
  addEventListener('storage', ({ key }) => {
    if (key === 'authorized') location.reload();
  });
}

function followColorScheme() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();
}

followColorScheme();
followOtherTabs();
SwaggerUIBundle({
  dom_id: '#swagger-ui',
  // Absolute, because Swagger UI resolves the addresses of the servers and of links against it.
  url: new URL('openapi.json', document.baseURI).href,
  plugins: [ExactAnswers, ExactLimits, Token],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  // Its numbers can be read; those of the default theme are dark red on dark grey.
  syntaxHighlight: { theme: 'monokai' },
  tryItOutEnabled: true,
  // By default it asks a service on the internet whether the document is valid.
  validatorUrl: 'none',
});

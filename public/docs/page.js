/* global SwaggerUIBundle */

/*
 * Adds Swagger UI to the reference, which the server renders: each operation of Swagger UI contains its part of
 * the reference.
 *
 * Swagger UI reads JSON into JavaScript numbers, which hold integers up to 2^53 only. Ids of plants go up to
 * 2^63 - 1, so the page shows text where Swagger UI shows numbers.
 */

/** Absolute, because Swagger UI resolves the addresses of the servers against it. */
const DOCUMENT = new URL('openapi.json', document.baseURI).href;
const BASE = new URL('.', document.baseURI).href.replace(/\/$/, '');
const PLACEHOLDER = 'YOUR_TOKEN';
/** What differs in the code samples. Looked up once, because a folded operation leaves the page. */
const PLACES = [...document.querySelectorAll('[data-fill]')];

/** Puts the parts of the reference into Swagger UI, and leaves out what they replace. */
function Reference({ React }) {
  const h = React.createElement;
  const parts = new Map(
    [...document.querySelectorAll('[data-slot]')].map((part) => [part.dataset.slot, part]),
  );
  const Part = ({ name }) => {
    const place = React.useRef(null);
    React.useLayoutEffect(() => place.current.replaceChildren(parts.get(name) ?? ''), [name]);
    return h('div', { ref: place });
  };
  const nothing = () => () => null;
  return {
    wrapComponents: {
      InfoContainer: nothing,
      TryItOutButton: nothing,
      authorizeOperationBtn: nothing,
      CopyToClipboardBtn: nothing,
      ServersContainer: (Servers) => (props) =>
        props.specSelectors.servers().size > 1 ? h(Servers, props) : null,
      AuthorizeBtnContainer: (Authorize) => (props) => {
        const token = props.authSelectors.authorized().getIn(['bearerAuth', 'value']);
        React.useEffect(() => fillIn('token', token ?? PLACEHOLDER), [token]);
        return h(
          React.Fragment,
          null,
          h(Part, { name: 'token' }),
          h(Authorize, props),
          h(Part, { name: 'operations' }),
        );
      },
      parameters: (Parameters) => (props) =>
        h(
          React.Fragment,
          null,
          h(Part, { name: props.operation.get('operationId') }),
          h('h4', { className: 'try' }, 'Try it'),
          h(Parameters, props),
        ),
    },
  };
}

/** Shows the answer to a request, with its body as it came. */
function LiveAnswer({ React }) {
  const h = React.createElement;
  const Folded = ({ title, children }) => h('details', null, h('summary', null, title), children);
  return {
    wrapComponents: {
      responses: () => (props) => {
        const { tryItOutResponse: response, path, method, specSelectors, getComponent } = props;
        if (!response) return null;
        const { authActions, authSelectors } = props;
        const status = response.get('status');
        const headers = Object.entries(response.get('headers')?.toJS() ?? {});
        const text = response.get('text');
        return h(
          'section',
          { className: 'live-response', 'aria-live': 'polite' },
          h(
            'p',
            { className: 'code-title' },
            'Response ',
            status &&
              h('span', { className: `status ${status < 400 ? 'success' : 'failure'}` }, status),
            response.has('duration') &&
              h('span', { className: 'duration' }, ` ${response.get('duration')} ms`),
          ),
          status === 401 &&
            h(
              'p',
              { className: 'hint' },
              'The service answers only requests with a valid token.',
              h(
                'button',
                {
                  type: 'button',
                  onClick: () =>
                    authActions.showDefinitions(authSelectors.definitionsToAuthorize()),
                },
                'Enter a token',
              ),
            ),
          !status && h('p', { className: 'hint' }, `No response: ${response.get('message')}`),
          // swagger-client makes an empty Blob of an answer without a type.
          typeof text === 'string' &&
            text !== '' &&
            h(
              getComponent('HighlightCode', true),
              { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true },
              text,
            ),
          headers.length > 0 &&
            h(
              Folded,
              { title: 'Response headers' },
              h(
                'pre',
                { className: 'live-headers' },
                headers.map((pair) => pair.join(': ')).join('\n'),
              ),
            ),
          h(
            Folded,
            { title: 'Request as curl' },
            h(getComponent('curl', true), { request: specSelectors.requestFor(path, method) }),
          ),
        );
      },
    },
  };
}

/** Shows the limits and the examples of integers as they stand in the document. */
function ExactNumbers({ React, specSelectors }) {
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
      ExamplesSelectValueRetainer: (Examples) => (props) =>
        React.createElement(Examples, {
          ...props,
          examples: props.examples.map((example) =>
            example.update('value', (value) => exact(String(value))),
          ),
        }),
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

/** Shows examples of NDJSON as they stand in the document. Swagger UI takes the text for a JSON string. */
function NdjsonExamples() {
  return {
    afterLoad() {
      const { getSampleSchema } = this.fn;
      this.fn.getSampleSchema = (schema, type, options, example) =>
        type === 'application/x-ndjson' && example !== undefined
          ? example
          : getSampleSchema(schema, type, options, example);
    },
  };
}

/** Asks for the token, and tries it before it is kept. */
function Token({ React, specSelectors }) {
  const h = React.createElement;

  const TokenDialog = ({ authActions, authSelectors }) => {
    const dialog = React.useRef(null);
    const [refusal, refuse] = React.useState('');
    const [isTrying, setTrying] = React.useState(false);
    React.useEffect(() => dialog.current.showModal(), []);
    const close = () => authActions.showDefinitions(false);
    const isAuthorized = authSelectors.authorized().has('bearerAuth');

    const submit = async (event) => {
      event.preventDefault();
      // People copy it with spaces or with the scheme.
      const value = new FormData(event.target)
        .get('token')
        .trim()
        .replace(/^bearer\s+/i, '');
      refuse('');
      setTrying(true);
      const problem = await problemOf(value);
      const isClosed = dialog.current === null;
      if (isClosed) return;
      setTrying(false);
      if (problem) {
        refuse(problem);
        return;
      }
      const schema = specSelectors.securityDefinitions().get('bearerAuth');
      authActions.authorizeWithPersistOption({ bearerAuth: { name: 'bearerAuth', schema, value } });
    };
    const logOut = () => {
      authActions.logoutWithPersistOption(['bearerAuth']);
      // Forgets everything that shows the token.
      location.reload();
    };

    const content = isAuthorized
      ? [
          h('p', null, 'Authorized. This browser keeps the token until you log out.'),
          h(
            'div',
            { className: 'dialog-buttons' },
            h('button', { type: 'button', onClick: logOut }, 'Log out'),
            h('button', { type: 'button', className: 'primary', onClick: close }, 'Close'),
          ),
        ]
      : [
          h('label', { htmlFor: 'token' }, 'Token'),
          h('textarea', {
            id: 'token',
            name: 'token',
            rows: 5,
            spellCheck: false,
            autoComplete: 'off',
            autoCapitalize: 'off',
            'aria-describedby': 'token-refusal',
            onKeyDown: (event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              event.target.form.requestSubmit();
            },
          }),
          h('p', { id: 'token-refusal', className: 'refusal', role: 'alert' }, refusal),
          h(
            'div',
            { className: 'dialog-buttons' },
            h('button', { type: 'button', onClick: close }, 'Cancel'),
            h(
              'button',
              { type: 'submit', className: 'primary', disabled: isTrying },
              isTrying ? 'Trying…' : 'Authorize',
            ),
          ),
        ];
    return h(
      'dialog',
      { ref: dialog, className: 'token-dialog', 'aria-labelledby': 'token-title', onClose: close },
      h('form', { onSubmit: submit }, h('h2', { id: 'token-title' }, 'Authorize'), ...content),
    );
  };

  return { wrapComponents: { authorizationPopup: () => TokenDialog } };
}

/** Why a token is not accepted, by a request that changes nothing. */
async function problemOf(token) {
  if (token === '') return 'Paste a token first.';
  try {
    const { paths } = await (await fetch(DOCUMENT)).json();
    // The last of a resource is that of a single row.
    const path = Object.keys(paths).findLast((one) => paths[one].get !== undefined);
    const response = await fetch(BASE + path.replaceAll(/\{\w+\}/g, '0'), {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    // It does not matter whether the row exists, or whether the token may look it up.
    if (response.ok || [400, 403, 404].includes(response.status)) return undefined;
    const { message } = await response.json();
    return response.status === 401
      ? `Wrong token: ${message}.`
      : `The service could not check the token: ${message}.`;
  } catch (error) {
    return `The token could not be sent: ${error.message}.`;
  }
}

/** Puts the address of the service or the token into the code samples. */
function fillIn(name, value) {
  for (const place of PLACES) if (place.dataset.fill === name) place.textContent = value;
}

/** Only secure pages have a clipboard. */
function addCopyButtons() {
  if (!navigator.clipboard) return;
  for (const samples of document.querySelectorAll('.samples')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'copy';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      const { value } = samples.querySelector(':checked');
      const code = samples.querySelector(`[data-sample=${value}]`);
      navigator.clipboard.writeText(code.textContent).then(
        () => (button.textContent = 'Copied'),
        () => (button.textContent = 'Not allowed'),
      );
    });
    samples.addEventListener('change', () => (button.textContent = 'Copy'));
    samples.append(button);
  }
}

/** Follows changes of the token in other tabs. */
function followOtherTabs() {
  addEventListener('storage', ({ key }) => {
    if (key === 'authorized') location.reload();
  });
}

followOtherTabs();
fillIn('base', BASE);
addCopyButtons();
SwaggerUIBundle({
  dom_id: '#swagger-ui',
  url: DOCUMENT,
  plugins: [Reference, LiveAnswer, ExactNumbers, NdjsonExamples, Token],
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  docExpansion: 'full',
  persistAuthorization: true,
  // The default theme shows numbers in dark red on dark grey.
  syntaxHighlight: { theme: 'monokai' },
  tryItOutEnabled: true,
  // By default it asks a service on the internet whether the document is valid.
  validatorUrl: 'none',
  // Swagger UI contains the reference now.
  onComplete: () => document.querySelector('#static').remove(),
});

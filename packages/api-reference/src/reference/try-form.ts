import { html } from '../html.js';
import type { Html } from '../html.js';
import { inlineMarkdown } from '../markdown.js';
import { sampleResource } from './samples.js';
import { exampleText, mainContent, parameterExample, successesOf, valueText } from './document.js';
import type { Endpoint, Examples, Parameter, Schema } from './document.js';

/** What sends a request of an operation; a script does so. */
export function tryForm(endpoint: Endpoint, endpoints: readonly Endpoint[]): Html {
  const { operationId, method, path, parameters = [], requestBody } = endpoint;
  const resource = sampleResource(endpoint, endpoints);
  // Nobody has to fill them in, so they do not stand between the reader and the body.
  const isLast = (parameter: Parameter) => parameter.in === 'header' && !parameter.required;
  const inputs = (isShown: (parameter: Parameter) => boolean) =>
    parameters.map((parameter, index) =>
      isShown(parameter) ? parameterInput(parameter, `about-${operationId}-${index}`) : html``,
    );
  return html`<details class="try">
    <summary>Try it</summary>
    <form
      data-method="${method.toUpperCase()}"
      data-path="${path}"
      data-name="${operationId}"
      ${resource && html`data-resource="${JSON.stringify(resource)}"`}
    >
      <div class="inputs">
        ${inputs((parameter) => !isLast(parameter))}${acceptSelect(endpoint)}
      </div>
      ${requestBody && bodyInput(requestBody)}
      <div class="inputs">${inputs(isLast)}</div>
      <div class="buttons">
        <button type="submit" class="primary" aria-keyshortcuts="Control+Enter Meta+Enter">
          Send
        </button>
        ${beginButton(endpoint, endpoints)}
        <button type="button" name="cancel" hidden>Cancel</button>
        <small>or Ctrl+Enter</small>
      </div>
    </form>
  </details>`;
}

/** @param about the id of its description */
function parameterInput(parameter: Parameter, about: string): Html {
  const { name, required = false, description = '', examples = {}, schema = {} } = parameter;
  const [sentence] = /^.+?\.(?=\s|$)/s.exec(description) ?? [description];
  const value = required ? (parameterExample(parameter) ?? '') : '';
  const attributes = html`name="${name}" data-in="${parameter.in}" aria-describedby="${about}"
  ${required && html`required`}`;
  return html`<div>
      <label>
        <span><code>${name}</code>${required ? '' : ' (optional)'}</span>
        ${valueSelect(schema, value, attributes) ?? valueInput(schema, value, attributes)}
      </label>
      <small id="${about}">${inlineMarkdown(sentence)}</small>
    </div>
    ${exampleSelect(name, examples, valueText)}`;
}

function valueInput(schema: Schema, value: string, attributes: Html): Html {
  return html`<input
    ${attributes}
    value="${value}"
    placeholder="${valueText(schema.default ?? '')}"
    autocomplete="off"
    autocapitalize="off"
    spellcheck="false"
    ${schema.items && html`data-list`}
  />`;
}

/** Chooses among values, if the schema has few. Without a choice, nothing is sent. */
function valueSelect(schema: Schema, value: string, attributes: Html): Html | undefined {
  const isBoolean = [schema.type].flat().includes('boolean');
  const values = schema.enum ?? (isBoolean ? [true, false] : undefined);
  if (values === undefined) return undefined;
  const { default: usual } = schema;
  return html`<select ${attributes}>
    ${value === '' && html`<option value="">${usual === undefined ? 'not set' : `${valueText(usual)} (default)`}</option>`}
    ${values.map((one) => html`<option ${valueText(one) === value && html`selected`}>${valueText(one)}</option> `)}
  </select>`;
}

/** Lets a stream begin with what comes from now on, if an operation says how: by a link with a parameter for the stream. */
function beginButton({ operationId, responses }: Endpoint, endpoints: readonly Endpoint[]): Html {
  const types = Object.values(responses).flatMap(({ content = {} }) => Object.keys(content));
  if (!types.includes('text/event-stream')) return html``;
  const gets = endpoints.filter(({ method, path }) => method === 'get' && !path.includes('{'));
  const [button] = gets.flatMap((endpoint) =>
    successesOf(endpoint)
      .flatMap(([, { links = {} }]) => Object.values(links))
      .flatMap((link) =>
        link.operationId === operationId ? Object.entries(link.parameters ?? {}) : [],
      )
      .flatMap(([parameter, value]) => {
        const [, property] = /^\$response\.body#\/(\w+)$/.exec(value) ?? [];
        if (property === undefined) return [];
        return [
          html`<button
            type="button"
            data-begins="${endpoint.path}"
            data-parameter="${parameter}"
            data-property="${property}"
          >
            Stream from now on
          </button>`,
        ];
      }),
  );
  return button ?? html``;
}

/** Chooses among the media types of the responses. */
function acceptSelect(endpoint: Endpoint): Html {
  const types = successesOf(endpoint).flatMap(([, { content = {} }]) => Object.keys(content));
  if (types.length < 2) return html``;
  return html`<label>
    <span><code>Accept</code></span>
    <select name="Accept" data-in="header">
      ${types.map((type) => html`<option>${type}</option> `)}
    </select>
  </label>`;
}

function bodyInput(requestBody: NonNullable<Endpoint['requestBody']>): Html {
  const { type, examples } = mainContent(requestBody);
  const textOf = (value: unknown) => exampleText(type, value, 2) ?? '';
  const [first] = Object.values(examples);
  const types = Object.keys(requestBody.content);
  const text = first === undefined ? '' : textOf(first.value);
  return html`<div class="inputs">
      ${
        types.length < 2
          ? html`<input type="hidden" name="content-type" value="${type}" />`
          : html`<label>
              <span><code>Content-Type</code></span>
              <select name="content-type">
                ${types.map((name) => html`<option ${name === type && html`selected`}>${name}</option> `)}
              </select>
            </label>`
      }
      ${exampleSelect('body', examples, textOf, html`data-own`)}
      ${type.endsWith('ndjson') && html`<label><span>File instead of the body</span> <input type="file" name="file" /></label>`}
    </div>
    <label class="body">
      <span>Body</span>
      <textarea
        name="body"
        rows="${String(Math.min(text.split('\n').length + 1, 12))}"
        spellcheck="false"
        autocapitalize="off"
      >
${text}</textarea>
    </label>`;
}

/** Puts an example into the field with this name: a parameter, unless an attribute says that it is one of the form's own. */
function exampleSelect(
  name: string,
  examples: Examples,
  textOf: (value: unknown) => string,
  attribute: Html | false = false,
): Html {
  const all = Object.entries(examples);
  if (all.length < 2) return html``;
  return html`<label>
    <span>Example</span>
    <select data-fills="${name}" ${attribute}>
      ${all.map(([, { summary = '', value }]) => html`<option value="${textOf(value)}">${summary}</option> `)}
    </select>
  </label>`;
}

/** What a script fills in with a response. */
export function responseTemplate(canSignIn: boolean): Html {
  return html`<template id="response">
    <section class="live-response">
      <p class="code-title" role="status">
        Response <span class="status"></span> <span class="progress" aria-live="off"></span>
      </p>
      <p class="hint" hidden>
        <span>
          <span class="problem" ${canSignIn && html`data-expired="Your token has expired."`}></span>
          <span class="remedy"></span>
        </span>
        ${canSignIn && html`<button type="button" class="primary" data-signs-in hidden>Sign in</button> `}
        <button type="button" data-opens="token" hidden>Enter a token</button>
      </p>
      <div class="code response-body" data-title="response" hidden>
        <pre tabindex="0"><code></code></pre>
      </div>
      <p class="more">
        <span class="cut"></span>
        <button type="button" name="all" hidden>Show all</button>
        <span class="last"></span>
        <button type="button" data-goes-on hidden></button>
        <a class="download" hidden>Download</a>
      </p>
      <details class="response-headers" hidden>
        <summary>Response headers</summary>
        <pre class="live-headers"></pre>
      </details>
      <details>
        <summary>Request as curl</summary>
        <div class="code curl-command" data-title="request as curl">
          <pre><code></code></pre>
        </div>
      </details>
    </section>
  </template>`;
}

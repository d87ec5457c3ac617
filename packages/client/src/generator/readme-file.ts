import { camelCase } from './names.js';
import type { Plan } from './names.js';

export function readmeFile(plan: Plan): string {
  const { identity, packageName, className, main, mainFeed } = plan;
  const properties = plan.properties
    .filter(({ property }) => !property.startsWith('#'))
    .map(({ property, type, methods }) => {
      const limits = methods ? ` with ${methods.map((name) => `\`${name}\``).join(', ')}` : '';
      return `- \`service.${property}\`: a \`${type}\`${limits}\n`;
    });
  const [other] = plan.others;
  if (other !== undefined) properties.push('- `service.operations`: all other operations\n');
  const own = main && `\`service.${camelCase(main.name)}()\` iterates over all ${main.name}`;
  const changes = mainFeed && ', and `service.followChanges()` over their changes';
  return `# ${identity.title}: client

The client of ${identity.title} ${identity.build.version} for TypeScript and JavaScript, in Node.js and browsers. 64-bit integers
are \`bigint\` and keep all digits; a \`number\` that is no safe integer is a \`TypeError\`. Requests that fail temporarily are repeated.

\`\`\`ts
import { ${className} } from '${packageName}';

const service = new ${className}({ url: 'http://localhost:3000', token: 'the token' });
\`\`\`

${own === undefined ? '' : `${own}${changes ?? ''}. The class has their other operations, too.\n`}
${properties.length === 0 ? '' : `It has a property for each of these:\n\n${properties.join('')}\n`}\
A \`Resource\` has \`create\`, \`get\`, \`list\`, \`all\`, \`replace\`, \`patch\`, \`remove\`, \`import\` and \`export\`; a \`Feed\` has \`all\`,
\`follow\` and \`latestPosition\`.
${
  other === undefined
    ? ''
    : `
\`service.operations\` has a method for each other operation, by its id in the OpenAPI document, such as \`${other.operation.operationId}\`. It takes the
parameters of path, query and header, and the \`body\`, as properties of one object. It returns what JSON says, and the \`Response\` of any
other content. It is repeated if it is GET, PUT or DELETE, or has an \`Idempotency-Key\`, which is random unless you give one.
`
}
An error response of the service is a \`ServiceError\`, and \`ERRORS\` has the numbers of the errors by name. Without a whole response, the
error is a \`ConnectionError\` with the \`url\` and its \`cause\`.

\`JSON.stringify\` throws on a \`bigint\`: \`toJson(value)\` writes all its digits, and \`parseJson(text, ['id'])\` reads the
properties with these names exactly.

The package consists of ES modules, which a CommonJS program can \`require\`. Jest loads modules itself, and its \`require\` refuses ES
modules. Let \`ts-jest\` or Babel, whichever your tests use, transform those of the client to CommonJS. With \`ts-jest\`, as in a project
of Nest:

\`\`\`js
// jest.config.js
module.exports = {
  transform: { '^.+\\\\.(t|j)s$': 'ts-jest' },
  // Everything else in node_modules stays as it is.
  transformIgnorePatterns: ['/node_modules/(?!.*${packageName}/)'],
};
\`\`\`
`;
}

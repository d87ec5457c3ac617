import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PLANT_STORE, PROJECT, service, VARIANTS, YARDSTICKS } from './contender.js';
import { bestLoadGenerator, OPERATIONS } from './load.js';
import { buildNative } from './native.js';
import { latencyPicture, throughputPicture } from './pictures.js';
import { report } from './report.js';
import type { Results } from './report.js';
import { run } from './run.js';

/* npm run bench: compares the service with its yardsticks. Stores the results unless an option changes what is measured. */

const { values: options, tokens } = parseArgs({
  tokens: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '1,4,16,64,256' },
    operations: { type: 'string', default: OPERATIONS.join(',') },
    /** Yardsticks in other languages. */
    with: { type: 'string' },
    /** Names of contenders. */
    only: { type: 'string' },
    /** `name=folder` of another build of the service, to compare a change. */
    build: { type: 'string', multiple: true, default: [] },
  },
});

const builds = options.build.map((build) => {
  const [name = '', folder = ''] = build.split('=');
  return service(name, folder);
});
const native = await buildNative(options.with);
const results = await run({
  contenders: [PLANT_STORE, ...VARIANTS, ...builds, ...YARDSTICKS, ...native].filter(
    ({ name }) => options.only === undefined || options.only.split(',').includes(name),
  ),
  generator: await bestLoadGenerator(),
  operations: OPERATIONS.filter((operation) => options.operations.split(',').includes(operation)),
  rounds: Number(options.rounds),
  isWarmedUp: true,
  seconds: Number(options.seconds),
  levels: options.connections.split(',').map(Number),
});
process.stdout.write(`${report(results)}\n`);
const isComplete = tokens.every((token) => token.kind === 'option' && token.name === 'with');
if (isComplete) await publish(results);

/** The folder of the pictures in the docs. */
async function publish(all: Results): Promise<void> {
  const folder = join(PROJECT, 'bench', 'results');
  await writeFile(join(folder, 'latest.json'), `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(join(PROJECT, 'docs', 'throughput.svg'), await throughputPicture(all, 'create'));
  await writeFile(join(PROJECT, 'docs', 'look-ups.svg'), await throughputPicture(all, 'look-up'));
  await writeFile(join(PROJECT, 'docs', 'latency.svg'), await latencyPicture(all));
}

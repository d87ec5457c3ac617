import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PLANT_STORE, PROJECT, service, YARDSTICKS } from './contender.js';
import { bestLoadGenerator } from './load.js';
import { latencyPicture, throughputPicture } from './pictures.js';
import { report } from './report.js';
import type { Results } from './report.js';
import { run } from './run.js';

/* npm run bench: compares the service with its yardsticks. Without options, stores the results. */

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '1,16,64,256' },
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
const results = await run({
  contenders: [PLANT_STORE, ...builds, ...YARDSTICKS].filter(
    ({ name }) => options.only === undefined || options.only.split(',').includes(name),
  ),
  generator: await bestLoadGenerator(),
  rounds: Number(options.rounds),
  seconds: Number(options.seconds),
  levels: options.connections.split(',').map(Number),
});
process.stdout.write(`${report(results)}\n`);
if (process.argv.length === 2) await publish(results);

/** The folder of the pictures in the docs. */
async function publish(all: Results): Promise<void> {
  const folder = join(PROJECT, 'bench', 'results');
  await writeFile(join(folder, 'latest.json'), `${JSON.stringify(all, null, 2)}\n`);
  await writeFile(join(PROJECT, 'docs', 'throughput.svg'), await throughputPicture(all));
  await writeFile(join(PROJECT, 'docs', 'latency.svg'), await latencyPicture(all));
}

import { parse, View } from 'vega';
import { compile } from 'vega-lite';
import type { TopLevelSpec } from 'vega-lite';
import { VARIANTS } from './contender.js';
import { PERCENTILES } from './load.js';
import type { Operation } from './load.js';
import { HEADINGS } from './report.js';
import type { Results } from './report.js';

/** Requests per second against connections, as SVG. */
export function throughputPicture(results: Results, operation: Operation): Promise<string> {
  return draw({
    title: `${HEADINGS[operation]} per second`,
    data: {
      values: drawnContenders(results).flatMap(({ name, title }) =>
        results.medians
          .filter((row) => row.contender === name && row.operation === operation)
          .map(({ connections, requestsPerSecond }) => ({ connections, requestsPerSecond, title })),
      ),
    },
    encoding: {
      x: { field: 'connections', type: 'ordinal', title: 'connections', axis: { labelAngle: 0 } },
      y: { field: 'requestsPerSecond', type: 'quantitative', title: 'answers per second' },
      color: color(results),
    },
  });
}

/** Latency percentiles of creates at 64 connections, as SVG. */
export function latencyPicture(results: Results): Promise<string> {
  return draw({
    title: 'Latency of creates at 64 connections',
    data: {
      values: drawnContenders(results).flatMap(({ name, title }) =>
        results.medians
          .filter((row) => row.contender === name && row.operation === 'create')
          .filter(({ connections }) => connections === 64)
          .flatMap(({ latency }) =>
            PERCENTILES.map((percentile, i) => ({
              percentile: String(percentile),
              milliseconds: latency[i],
              title,
            })),
          ),
      ),
    },
    encoding: {
      x: { field: 'percentile', type: 'ordinal', title: 'percentile', axis: { labelAngle: 0 } },
      y: {
        field: 'milliseconds',
        type: 'quantitative',
        title: 'milliseconds',
        scale: { type: 'log' },
      },
      color: color(results),
    },
  });
}

/** Measured after each turn of the load. */
export interface SoakSample {
  /** Since the beginning. */
  readonly minutes: number;
  readonly memoryMb: number;
  /** Active handles, such as sockets and timers. */
  readonly handles: number;
  readonly fileDescriptors: number;
  readonly p50: number;
  readonly p99: number;
}

/** Memory, handles and latency under a lasting load, as SVG. */
export function soakPicture(samples: readonly SoakSample[], connections: number): Promise<string> {
  const titles = {
    memoryMb: 'memory, MB',
    handles: 'handles',
    fileDescriptors: 'files, sockets',
    p50: 'p50, ms',
    p99: 'p99, ms',
  } as const;
  const measures = Object.entries(titles) as [keyof typeof titles, string][];
  return draw({
    title: `Creates from ${connections} connections`,
    width: 390,
    height: 70,
    autosize: 'pad',
    mark: 'line',
    data: {
      values: samples.flatMap((sample) =>
        measures.map(([measure, title]) => ({
          minutes: sample.minutes,
          title,
          value: sample[measure],
        })),
      ),
    },
    encoding: {
      x: { field: 'minutes', type: 'quantitative', title: 'minutes' },
      y: { field: 'value', type: 'quantitative', title: null, axis: { tickCount: 3 } },
      row: {
        field: 'title',
        type: 'nominal',
        sort: Object.values(titles),
        title: null,
        header: { labelAngle: 0, labelOrient: 'top', labelAnchor: 'start' },
      },
    },
    resolve: { scale: { y: 'independent' } },
  });
}

/** All but the variants of the service, whose results are a point each. */
function drawnContenders({ contenders }: Results): Results['contenders'] {
  return contenders.filter(({ name }) => !VARIANTS.some((service) => service.name === name));
}

/** One colour for each contender, in the same order in all pictures. */
function color(results: Results) {
  return {
    field: 'title',
    type: 'nominal',
    sort: drawnContenders(results).map(({ title }) => title),
    title: null,
    legend: { labelLimit: 0 },
  } as const;
}

type UnitSpec = Extract<TopLevelSpec, { mark: unknown }>;
type Drawing = Pick<UnitSpec, 'title' | 'data' | 'encoding'> & Partial<UnitSpec>;

/** On a phone, a picture is as wide as 358 pixels: there a label has 11 pixels. */
const SIZE = { width: 480, height: 500, font: 15 } as const;

/** A picture takes the colours of the page around it. The lines have enough contrast in both schemes. */
const DARK = `<style>
@media (prefers-color-scheme: dark) {
  rect[fill='white'] { fill: #171d1a }
  text { fill: #e3e9e6 }
  [stroke='#ddd'] { stroke: #3a463f }
  [stroke='#888'] { stroke: #a3b1aa }
}
</style>`;

async function draw(drawing: Drawing): Promise<string> {
  const { spec } = compile({
    width: SIZE.width,
    height: SIZE.height,
    autosize: { type: 'fit', contains: 'padding' },
    background: 'white',
    padding: 12,
    mark: { type: 'line', point: true },
    config: {
      font: 'sans-serif',
      range: { category: { scheme: 'tableau10' } },
      axis: { labelFontSize: SIZE.font, titleFontSize: SIZE.font },
      header: { labelFontSize: SIZE.font, titleFontSize: SIZE.font },
      legend: { labelFontSize: SIZE.font, orient: 'bottom', columns: 1 },
      title: { fontSize: SIZE.font + 2 },
    },
    ...drawing,
  });
  const picture = await new View(parse(spec), { renderer: 'none' }).toSVG();
  return picture.replace(/^<svg[^>]*>/, `$&${DARK}`);
}

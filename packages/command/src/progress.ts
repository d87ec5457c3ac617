import type { Terminal } from './terminal.js';

const INTERVAL = 100;

const BAR = 24;

/** How much of its way to the true share the bar goes in an interval. */
const PART = 0.1;

/** Clears the line and returns to its begin (ECMA-48: EL). */
const CLEAR = '\r\u001B[2K';

/** A line on the terminal that shows how far the work is. Nothing where stderr is not a terminal. */
export class Progress {
  rows = 0;
  bytes = 0;
  private readonly start = performance.now();
  private readonly timer: NodeJS.Timeout | undefined;
  /** The share of the bar, which follows the bytes. The bytes of a request count when it ends. */
  private shown = 0;

  /** @param noun of the rows, in the plural */
  constructor(
    private readonly stderr: Terminal['stderr'],
    private readonly noun: string,
    private readonly totalBytes?: number,
  ) {
    if (stderr.isTTY) this.timer = setInterval(() => this.draw(), INTERVAL).unref();
  }

  get seconds(): number {
    return (performance.now() - this.start) / 1_000;
  }

  /** Such as `500 tools/s`. */
  get speed(): string {
    return `${this.rate} ${this.noun}/s`;
  }

  private get rate(): number {
    return Math.round(this.rows / Math.max(this.seconds, 0.001));
  }

  print(line: string): void {
    this.stderr.write(`${this.stderr.isTTY ? CLEAR : ''}${line}\n`);
  }

  stop(): void {
    if (this.timer === undefined) return;
    clearInterval(this.timer);
    this.stderr.write(CLEAR);
  }

  private draw(): void {
    // 0 if the terminal does not know. The last column stays empty, because some terminals wrap after it.
    const width = (this.stderr.columns || 80) - 1;
    this.stderr.write(CLEAR + this.line().slice(0, width));
  }

  private line(): string {
    const speed = `${this.rows} ${this.noun}  ${this.rate}/s`;
    if (this.totalBytes === undefined) return speed;
    const share = this.totalBytes === 0 ? 1 : Math.min(this.bytes / this.totalBytes, 1);
    this.shown += (share - this.shown) * (share === 1 ? 1 : PART);
    const bar = '#'.repeat(Math.round(this.shown * BAR)).padEnd(BAR, '.');
    const left = share === 0 ? '' : `  ${duration((this.seconds / share) * (1 - share))} left`;
    return `[${bar}] ${Math.floor(this.shown * 100)} %  ${speed}${left}`;
  }
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** Shows the progress in one line on stderr. */
export class Progress {
  private readonly start = performance.now();
  private done = 0;

  constructor(private readonly steps: number) {}

  step(text: string): void {
    this.done += 1;
    const left = ((performance.now() - this.start) / this.done) * (this.steps - this.done);
    const minutes = Math.ceil(left / 60_000);
    const line = `${this.done}/${this.steps} · ${text} · ${minutes} min left`;
    process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${line}` : `${line}\n`);
  }

  end(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  }
}

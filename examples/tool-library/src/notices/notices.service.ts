import { Injectable } from '@nestjs/common';
import { Health, InjectVariables, Logger, Metrics, Variables } from '@resource-service/framework';
import type { VARIABLES } from '../variables.js';

/** Tells another server which tools are lent, and which are back. */
@Injectable()
export class NoticesService {
  private readonly count;

  constructor(
    @InjectVariables() private readonly variables: Variables<typeof VARIABLES>,
    private readonly log: Logger,
    metrics: Metrics,
    health: Health,
  ) {
    const help = 'Notices of returned tools.';
    this.count = metrics.counter('tool_library_notices_total', help, 'outcome', ['sent', 'lost']);
    const { NOTICES_URL: url } = variables;
    if (url !== undefined) {
      health.add('notices', (signal) => fetch(url, { method: 'HEAD', signal }), { timeout: 500 });
    }
  }

  /** Never rejects: the tool is back, with or without a notice. */
  async send(tool: bigint): Promise<void> {
    if (this.variables.NOTICES_URL === undefined) return;
    try {
      await this.post(`tool ${tool} is back`);
      this.count('sent');
      this.log.info({ event: 'notice', tool }, 'a notice was sent');
    } catch (error) {
      this.count('lost');
      this.log.warn({ event: 'notice', tool, err: error }, 'a notice is lost');
    }
  }

  /** Rejects unless the other server has the notice. */
  async post(body: string, signal?: AbortSignal): Promise<void> {
    const { NOTICES_URL: url, NOTICES_TIMEOUT: timeout } = this.variables;
    if (url === undefined) return;
    const signals = [AbortSignal.timeout(timeout), ...(signal === undefined ? [] : [signal])];
    const { ok, status } = await fetch(url, {
      method: 'POST',
      body,
      signal: AbortSignal.any(signals),
    });
    if (!ok) throw new Error(`the response to a notice has the status ${status}`);
  }
}

import { Injectable } from '@nestjs/common';
import { Health, InjectVariables, Logger, Metrics, Variables } from '@resource-service/framework';
import type { VARIABLES } from '../variables.js';

/** Tells another server which tools are back. */
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
    const { NOTICES_URL: url, NOTICES_TIMEOUT: timeout } = this.variables;
    if (url === undefined) return;
    try {
      const body = `tool ${tool} is back`;
      await fetch(url, { method: 'POST', body, signal: AbortSignal.timeout(timeout) });
      this.count('sent');
      this.log.info({ event: 'notice', tool }, 'a notice was sent');
    } catch (error) {
      this.count('lost');
      this.log.warn({ event: 'notice', tool, err: error }, 'a notice is lost');
    }
  }
}

import { startReverseProxy } from './reverse-proxy.js';
import type { ReverseProxy, ReverseProxyOptions } from './reverse-proxy.js';

export function startHaproxy(options: ReverseProxyOptions): Promise<ReverseProxy> {
  return startReverseProxy(options, 'haproxy', ['-db', '-f']);
}

import { startReverseProxy } from './reverse-proxy.js';
import type { ReverseProxy, ReverseProxyOptions } from './reverse-proxy.js';

export function startNginx(options: ReverseProxyOptions): Promise<ReverseProxy> {
  return startReverseProxy(options, 'nginx', ['-e', 'stderr', '-p', options.folder, '-c']);
}

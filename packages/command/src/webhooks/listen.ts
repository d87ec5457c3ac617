import { ServiceError } from '@resource-service/client/runtime';
import { CommandError, EXIT, reasonOf, textOf } from '../command-error.js';
import type { Connection } from '../connection/connection.js';
import { write } from '../terminal.js';
import type { Terminal } from '../terminal.js';
import { isSigned, Receiver } from './receiver.js';
import type { Message } from './receiver.js';
import { problemOf, WebhookRequests } from './webhook-requests.js';
import type { NewWebhook, Secret } from './webhook-requests.js';

/** What the service needs, by the number of its error. */
const NEEDED: Readonly<Record<number, string>> = {
  40070: 'WEBHOOK_ALLOWED_NETWORKS=loopback',
  50170: 'WEBHOOK_SECRET_KEY (32 bytes in base64)',
};

export interface ListenOptions extends Omit<NewWebhook, 'url'> {
  readonly forwardTo?: URL;
}

/** Writes the messages of a webhook that exists so long, and can forward them. */
export async function listen(
  { forwardTo, ...chosen }: ListenOptions,
  connection: Connection,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
): Promise<never> {
  const say = (text: string) => void stderr.write(`${text}\n`);
  const requests = (until: AbortSignal) => new WebhookRequests(connection, until, say);
  // A signal does not end these, because the webhook would stay.
  const changes = () => requests(AbortSignal.timeout(connection.limits.unstoppable));
  let created!: Promise<Secret>;
  let isReady = false;
  let fail: (error: unknown) => void = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    fail = reject;
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
  // It can end before it is waited for. `write` tells of its stream.
  ended.catch(() => {});
  stdout.on('error', () => {});

  const receive = async (message: Message, gone: AbortSignal): Promise<number> => {
    const { secret } = await created;
    if (!isSigned(message, secret)) {
      say('rejected a message without a valid signature');
      return 400;
    }
    const text = message.body.toString();
    const { type } = JSON.parse(text) as { readonly type: string };
    // Only shows that messages arrive.
    if (type === 'webhook.test' && !isReady) return 204;
    await write(stdout, `${text}\n`, signal).catch(fail);
    if (forwardTo === undefined) return 204;
    const status = await forward(forwardTo, message, gone).catch((error: Error) => {
      say(`${forwardTo.href} has not responded: ${causeOf(error)}`);
      return 502;
    });
    say(`${String(message.headers['webhook-id'])} ${type}: ${status} from ${forwardTo.href}`);
    return status;
  };

  const receiver = await Receiver.start(receive);
  let id: string | undefined;
  try {
    signal.throwIfAborted();
    created = changes().create({ url: receiver.url, ...chosen });
    const made = await created.catch((error: unknown) => {
      throw explained(error);
    });
    id = made.id;
    const problem = problemOf(await requests(signal).test(id));
    if (problem !== undefined) {
      const text = `no message arrives here: ${problem} Run the command on the machine of the service`;
      throw new CommandError(EXIT.incomplete, text);
    }
    isReady = true;
    say(`the webhook ${id} sends its messages here, until Ctrl-C`);
    if (forwardTo) say(`they go on to ${forwardTo.href}, signed with ${made.secret}`);
    return await ended;
  } finally {
    receiver.stop();
    const { name } = connection.service.identity;
    const tell = () => say(`the webhook is left: ${name} webhooks remove ${id}`);
    if (id !== undefined) await changes().remove(id).catch(tell);
  }
}

/** @returns the status of the response */
async function forward(url: URL, { headers, body }: Message, signal: AbortSignal): Promise<number> {
  const own = Object.entries(headers).filter(([name]) =>
    /^(webhook-.*|content-type|user-agent)$/.test(name),
  );
  const response = await fetch(url, {
    method: 'POST',
    headers: own as [string, string][],
    body,
    redirect: 'manual',
    signal,
  });
  await response.body?.cancel();
  return response.status;
}

/** `fetch` says only that it failed. */
function causeOf({ message, cause }: Error): string {
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}

function explained(error: unknown): unknown {
  const needed = error instanceof ServiceError ? NEEDED[error.code ?? 0] : undefined;
  if (needed === undefined) return error;
  const reason = textOf(reasonOf(error as ServiceError)).replace(/\.$/, '');
  const remedy = `set ${needed} in the environment or .env of the service, and restart it`;
  return new CommandError(EXIT.incomplete, `${reason}: ${remedy}`);
}

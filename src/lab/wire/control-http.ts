import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';

const LOOPBACK_PEER = /^(127\.|::1$|::ffff:127\.)/;
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/;

/** Sec-Fetch-Site of an address that a person typed, and of the pages of that address. */
const OWN_SITE = [undefined, 'none', 'same-origin'];

/** Allows only programs on this machine, and no page in a browser, not even a link or a picture. */
export function isLocalProgram({ socket, headers }: IncomingMessage): boolean {
  if (!LOOPBACK_PEER.test(socket.remoteAddress ?? '')) return false;
  if (!LOOPBACK_HOST.test(headers.host ?? '') || headers.origin !== undefined) return false;
  const site = headers['sec-fetch-site'];
  return OWN_SITE.some((own) => own === site);
}

/** The fault of a request to the control of a stand-in. */
export class ControlFault extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Further members of the answer. */
    readonly details: object = {},
  ) {
    super(message);
  }
}

/** Reads at most `largest` bytes. Throws ControlFault 413. */
export async function readBytes(request: IncomingMessage, largest: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > largest) throw new ControlFault(413, 'the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ControlFault(400, 'the body is not JSON');
  }
}

/** The body as JSON of that shape. Throws ControlFault with the faults. */
export async function readBody<T>(
  request: IncomingMessage,
  schema: z.ZodType<T>,
  largest = 64 * 1024,
): Promise<T> {
  const { data, error } = schema.safeParse(parseJson(await readBytes(request, largest)));
  if (data === undefined) throw new ControlFault(400, z.prettifyError(error as z.ZodError));
  return data;
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(`${JSON.stringify(body, null, 2)}\n`);
}

/** Answers a ControlFault; rethrows any other error. */
export function sendFault(response: ServerResponse, error: unknown): void {
  if (!(error instanceof ControlFault) || response.headersSent) throw error;
  response.shouldKeepAlive = error.status !== 413;
  sendJson(response, error.status, { error: error.message, ...error.details });
}

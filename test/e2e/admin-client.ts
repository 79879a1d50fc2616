import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Resource {
  id: number;
  type: string;
  attributes: Record<string, unknown>;
}

export interface Answer {
  status: number;
  text: string;
  data: Resource;
  list: Resource[];
  meta: Record<string, unknown>;
}

export function readAdminToken(dataDir: string): string {
  return readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
}

function toAnswer(status: number, text: string): Answer {
  const body = (text === '' ? {} : JSON.parse(text)) as {
    data?: Resource | Resource[];
    meta?: Record<string, unknown>;
  };
  const list = [body.data ?? []].flat();
  const data = list[0] ?? { id: 0, type: '', attributes: {} };
  return { status, text, data, list, meta: body.meta ?? {} };
}

/** The admin API as a script with a token uses it. */
export class AdminClient {
  constructor(
    private readonly url: string,
    private readonly token: string,
  ) {}

  /** `path` is below /api/v1. A body makes it a POST. */
  async call(path: string, body?: object): Promise<Answer> {
    const headers = new Headers({ Authorization: `Bearer ${this.token}` });
    if (body !== undefined) headers.set('Content-Type', 'application/vnd.api+json');
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    return toAnswer(response.status, await response.text());
  }

  /** Queues a command; the answer's status says whether the server accepted it. */
  queue(deviceId: number, requestType: string, parameters: object = {}): Promise<Answer> {
    const device = { data: { type: 'devices', id: deviceId } };
    const attributes = { request_type: requestType, parameters };
    return this.call('/commands', {
      data: { type: 'commands', attributes, relationships: { device } },
    });
  }
}

/** Asks again and again until the answer satisfies; rejects with what was last seen. */
export async function eventually<T>(
  look: () => Promise<T>,
  isEnough: (value: T) => boolean,
  ms = 30_000,
): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await look();
    if (isEnough(value)) return value;
    if (Date.now() > end) throw new Error(`after ${ms} ms still ${JSON.stringify(value)}`);
    await sleep(100);
  }
}

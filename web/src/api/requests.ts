import { call } from './client';
import { reach } from './connection';
import { resultOf } from './files';
import { once } from './mutation';
import type { ApiRequest } from './request';

const JSON_API = 'application/vnd.api+json';
const HEADERS = { 'X-Muster-Console': '1', Accept: JSON_API, 'Content-Type': JSON_API };

/** Sends it to this server's API, and nowhere else. `key` is its Idempotency-Key. */
export function sendRequest<T>({ method, path, body }: ApiRequest, key: string): Promise<T> {
  if (!path.startsWith('/api/v1/')) return Promise.reject(new Error(`${path} is not of the API`));
  return call(async () => {
    const text = body === undefined || body === null ? null : JSON.stringify(body);
    const headers = { ...HEADERS, ...once(key).headers };
    const response = await reach(path, { method, headers, body: text });
    return resultOf<T>(response, () => response.json() as Promise<T>);
  });
}

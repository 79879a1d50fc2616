import { call } from './client';
import { reach } from './connection';
import { once } from './mutation';

const HEADERS = { 'X-Muster-Console': '1', Accept: 'application/vnd.api+json, */*' };

/** Sends a file as the field `file` of a form. The path is that of the API document, `key` its Idempotency-Key. */
export function uploadFile<T>(path: string, file: File, key: string): Promise<T> {
  return call(async () => {
    const body = new FormData();
    body.append('file', file);
    const headers = { ...HEADERS, ...once(key).headers };
    const response = await reach(path, { method: 'POST', headers, body });
    return resultOf<T>(response, () => response.json());
  });
}

/** Fetches a file, in another form than JSON where `accept` names it, and has the browser save it. */
export function saveFile(path: string, name: string, accept = HEADERS.Accept): Promise<void> {
  return save(path, name, { headers: { ...HEADERS, Accept: accept } });
}

/** The same for a file that the server makes for each request with another Idempotency-Key. */
export function saveNewFile(path: string, name: string, key: string): Promise<void> {
  return save(path, name, { method: 'POST', headers: { ...HEADERS, ...once(key).headers } });
}

async function save(path: string, name: string, init: RequestInit): Promise<void> {
  const blob = await call(async () => {
    const response = await reach(path, init);
    return resultOf<Blob>(response, () => response.blob());
  });
  saveBlob(blob, name);
}

export function saveText(text: string, name: string): void {
  saveBlob(new Blob([text], { type: 'text/plain' }), name);
}

export async function resultOf<T>(response: Response, read: () => Promise<T>) {
  if (response.ok) return { data: await read(), response };
  const error: unknown = await response.json().catch(() => undefined);
  return { error, response };
}

function saveBlob(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

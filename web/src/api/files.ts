import { call } from './client';
import { reach } from './connection';

const HEADERS = { 'X-Muster-Console': '1', Accept: 'application/vnd.api+json, */*' };

/** Sends a file as the field `file` of a form. The path is that of the API document. */
export function uploadFile<T>(path: string, file: File): Promise<T> {
  return call(async () => {
    const body = new FormData();
    body.append('file', file);
    const response = await reach(path, { method: 'POST', headers: HEADERS, body });
    return resultOf<T>(response, () => response.json());
  });
}

/** Fetches a file, in another form than JSON where `accept` names it, and has the browser save it. */
export async function saveFile(
  path: string,
  method: 'GET' | 'POST',
  name: string,
  accept = HEADERS.Accept,
): Promise<void> {
  const blob = await call(async () => {
    const response = await reach(path, { method, headers: { ...HEADERS, Accept: accept } });
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

import { type OutgoingHttpHeaders, request } from 'node:http';
import type { TestApp } from '../helpers/app.js';

export interface RawReply {
  status: number;
  allow: string | undefined;
  length: number;
}

/** A request with exactly these headers, for what a device would never send. */
export function sendRaw(
  { url }: TestApp,
  options: { method?: string; path?: string; headers?: OutgoingHttpHeaders; body?: Buffer },
): Promise<RawReply> {
  const { method = 'PUT', path = '/mdm', headers = {}, body = Buffer.alloc(0) } = options;
  return new Promise((resolve, reject) => {
    const req = request(`${url}${path}`, { method, headers, agent: false }, (res) => {
      let length = 0;
      res.on('data', (chunk: Buffer) => {
        length += chunk.length;
      });
      res.on('end', () => {
        const { statusCode: status = 0, headers: got } = res;
        resolve({ status, allow: got.allow, length });
        req.destroy();
      });
    });
    req.on('error', reject);
    req.end(body);
  });
}

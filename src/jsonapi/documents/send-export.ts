import { once } from 'node:events';
import type { Request, Response } from 'express';
import type { Export } from '../operations/export.js';
import { CSV_MEDIA_TYPE } from './csv.js';

/**
 * Sends the rows as fast as the client reads them. A failure after the first row closes the connection, so that
 * a truncated file does not look complete.
 */
export async function sendExport(req: Request, res: Response, exported: Export): Promise<void> {
  const day = new Date().toISOString().slice(0, 10);
  res.setHeader('Content-Type', `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`);
  res.setHeader('Content-Disposition', `attachment; filename="${exported.name}-${day}.csv"`);
  if (req.method === 'HEAD') {
    res.end();
    return;
  }
  for await (const part of exported.parts) {
    if (res.closed) return;
    if (!res.write(part)) await Promise.race([once(res, 'drain'), once(res, 'close')]);
  }
  res.end();
}

/** Whether the client prefers CSV to a document. */
export function prefersCsv(req: Request, mediaType: string): boolean {
  return req.accepts([mediaType, CSV_MEDIA_TYPE]) === CSV_MEDIA_TYPE;
}

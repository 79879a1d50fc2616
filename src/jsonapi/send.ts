import type { Request, Response } from 'express';
import { MEDIA_TYPE } from './document.js';
import type { Answer } from './engine.js';

// A Buffer, because Express adds a charset to the type of strings, which JSON:API forbids.
export function sendAnswer(_req: Request, res: Response, answer: Answer): void {
  const { status, document, location } = answer;
  res.status(status);
  res.vary('Accept');
  if (location !== undefined) res.setHeader('Location', location);
  if (document === undefined) {
    res.end();
    return;
  }
  res.setHeader('Content-Type', MEDIA_TYPE);
  res.send(Buffer.from(JSON.stringify(document)));
}

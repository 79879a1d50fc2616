import type { IncomingHttpHeaders } from 'node:http';
import { isPlistDict } from '../../protocol/plist/plist.js';
import { LabError } from './lab-error.js';

export interface HttpReply {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const UPDATE_REQUIRED = 'com.apple.softwareupdate.required';
const MAX_TEXT_LENGTH = 200;

/** The error for an answer other than the expected one, with the reason that the server gave. */
export function refusedReply(url: string, reply: HttpReply): LabError {
  const { origin, pathname } = new URL(url);
  const text = reasonIn(reply)?.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TEXT_LENGTH);
  const reason = text === undefined || text === '' ? 'it gave no reason' : text;
  return new LabError(`${origin}${pathname} answered ${reply.status}: ${reason}`);
}

/** undefined for a body that is no JSON. */
export function parseJson(body: Buffer | string): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function reasonIn({ headers, body }: HttpReply): string | undefined {
  const type = String(headers['content-type'] ?? '');
  if (type.includes('json')) return reasonInJson(parseJson(body));
  if (!type.startsWith('text/')) return undefined;
  return type.includes('html') ? visibleText(body) : body.toString();
}

function reasonInJson(value: unknown): string | undefined {
  if (!isPlistDict(value)) return undefined;
  const { code, description, message, details } = value;
  if (code === UPDATE_REQUIRED && isPlistDict(details)) {
    return `the device needs version ${textOf(details.OSVersion) ?? 'unknown'} of its system first`;
  }
  return textOf(description) ?? textOf(message) ?? textOf(code);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function visibleText(html: Buffer): string {
  const visible = html.toString().replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>/gi, ' ');
  return visible.replaceAll(/<[^>]*>/g, ' ');
}

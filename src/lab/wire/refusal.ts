import { isPlistDict } from '../../protocol/plist/plist.js';
import type { HttpReply } from './http-client.js';
import { LabError } from './lab-error.js';

const UPDATE_REQUIRED = 'com.apple.softwareupdate.required';
const MOST_TEXT = 200;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function fromJson(body: Buffer): string | undefined {
  const value: unknown = JSON.parse(body.toString());
  if (!isPlistDict(value)) return undefined;
  const { code, description, message, details } = value;
  if (code === UPDATE_REQUIRED && isPlistDict(details)) {
    return `the device needs version ${textOf(details.OSVersion) ?? 'unknown'} of its system first`;
  }
  return textOf(description) ?? textOf(message) ?? textOf(code);
}

/** What a person would read of a page. */
function fromHtml(body: Buffer): string {
  const visible = body.toString().replaceAll(/<(style|script|title)\b[\s\S]*?<\/\1>/gi, ' ');
  return visible.replaceAll(/<[^>]*>/g, ' ');
}

function explanation({ headers, body }: HttpReply): string | undefined {
  const type = String(headers['content-type'] ?? '');
  try {
    if (type.includes('json')) return fromJson(body);
  } catch {
    return undefined;
  }
  if (!type.startsWith('text/')) return undefined;
  return type.includes('html') ? fromHtml(body) : body.toString();
}

/** Whoever runs the simulator reads what the server said, as far as it said anything. */
export function refusal(url: string, reply: HttpReply): LabError {
  const { origin, pathname } = new URL(url);
  const said = explanation(reply)?.replaceAll(/\s+/g, ' ').trim().slice(0, MOST_TEXT);
  const why = said === undefined || said === '' ? 'it gave no reason' : said;
  return new LabError(`${origin}${pathname} answered ${reply.status}: ${why}`);
}

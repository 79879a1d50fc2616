import { DepRefusal } from './dep-refusal.js';

const LONGEST = 4096;
const PAIR = /^\s*([A-Za-z0-9_.~%-]+)="([^"]*)"\s*$/;

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new DepRefusal(400, 'parameter_rejected');
  }
}

/**
 * The parameters of an Authorization header (RFC 5849 3.5.1), decoded, without `realm`.
 * @throws ProgramRefusal 401 where there is none, 400 for one that is none of OAuth's or names one twice
 */
export function readOAuthHeader(header: string | undefined): Map<string, string> {
  const [, text] = /^OAuth\s+(.*)$/i.exec(header ?? '') ?? [];
  if (text === undefined) throw new DepRefusal(401, 'UNAUTHORIZED');
  if (text.length > LONGEST) throw new DepRefusal(400, 'parameter_rejected');
  const parameters = new Map<string, string>();
  for (const part of text.split(',')) {
    const [, name, value] = PAIR.exec(part) ?? [];
    if (name === undefined || value === undefined || parameters.has(decode(name))) {
      throw new DepRefusal(400, 'parameter_rejected');
    }
    parameters.set(decode(name), decode(value));
  }
  parameters.delete('realm');
  return parameters;
}

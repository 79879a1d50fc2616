/**
 * Strict standard base64 (RFC 4648 clause 4): padded, no white space, no other alphabet.
 * Returns undefined for anything else. Node's own decoder silently skips what it does not know,
 * so a shorter result than the length promises means that something was skipped.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const { length } = text;
  if (length % 4 !== 0 || text.includes('-') || text.includes('_')) return undefined;
  let padding = 0;
  if (text.endsWith('==')) padding = 2;
  else if (text.endsWith('=')) padding = 1;
  const decoded = Buffer.from(text, 'base64');
  return decoded.length === (length / 4) * 3 - padding ? decoded : undefined;
}

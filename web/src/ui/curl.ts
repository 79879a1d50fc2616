export interface CurlRequest {
  /** A path on this server, with its query. */
  path: string;
  method?: string | undefined;
  body?: unknown;
  /** What it asks for, where that is not JSON. */
  accept?: string | undefined;
}

/** The line for a shell that sends the request. The token stands in the variable `TOKEN`. */
export function curlLine({ path, method = 'GET', body, accept }: CurlRequest, origin: string) {
  const parts = ['curl -sg -H "Authorization: Bearer $TOKEN"'];
  if (accept !== undefined) parts.push(`-H ${quoted(`Accept: ${accept}`)}`);
  if (method !== 'GET') parts.push(`-X ${method}`);
  if (body !== undefined && body !== null) {
    parts.push("-H 'Content-Type: application/vnd.api+json'");
    parts.push(`-d ${quoted(JSON.stringify(body))}`);
  }
  return [...parts, quoted(origin + readable(path))].join(' ');
}

/** `-g` lets brackets and commas stand for themselves, so that the line can be read. */
function readable(path: string): string {
  return path.replaceAll('%5B', '[').replaceAll('%5D', ']').replaceAll('%2C', ',');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

import { commandsText } from '../../text/commands';
import { ShellLine } from '../../ui/shell-line';
import { Disclosure } from './disclosure';

const words = commandsText.curl;

interface Request {
  path: string;
  method?: string;
  body?: unknown;
}

/** How a shell sends the requests of the page. */
export function CurlNote({ requests }: { requests: readonly Request[] }) {
  return (
    <Disclosure title={words.title}>
      <p className="soft">{words.about}</p>
      {requests.map((request) => (
        <ShellLine
          key={`${request.method} ${request.path}`}
          line={lineOf(request)}
          copy={words.copy}
          copied={words.copied}
        />
      ))}
    </Disclosure>
  );
}

function lineOf({ path, method = 'GET', body }: Request): string {
  const parts = ['curl -sg -H "Authorization: Bearer $TOKEN"'];
  if (method !== 'GET') parts.push(`-X ${method}`);
  if (body !== undefined) {
    parts.push("-H 'Content-Type: application/vnd.api+json'", `-d ${quoted(JSON.stringify(body))}`);
  }
  return [...parts, quoted(location.origin + path)].join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

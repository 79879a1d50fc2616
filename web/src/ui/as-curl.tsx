import './as-curl.css';
import { type CurlRequest, curlLine } from './curl';
import { ShellLine } from './shell-line';

interface Props {
  words: { title: string; copy: string; copied: string; about: string };
  /** The requests that the page reads or sends, each with what it is for. */
  requests: readonly (CurlRequest & { label?: string })[];
}

/** How a shell sends the requests of the page. */
export function AsCurl({ words, requests }: Props) {
  return (
    <details className="as-curl">
      <summary>{words.title}</summary>
      <div className="as-curl-lines">
        <p className="soft">{words.about}</p>
        {requests.map(({ label, ...request }) => (
          <div key={`${request.method} ${request.path}`}>
            {label !== undefined && <p className="as-curl-label">{label}</p>}
            <ShellLine
              line={curlLine(request, location.origin)}
              copy={words.copy}
              copied={words.copied}
            />
          </div>
        ))}
      </div>
    </details>
  );
}

import { Link } from '@tanstack/react-router';
import { pagesNamedIn } from '../text/named-pages';

/** Links to the pages for what a text of the server names by the paths of the API. */
export function PageLinks({ text }: { text: string }) {
  return pagesNamedIn(text).map(({ to, label, filter }) => (
    <span key={to}>
      {' '}
      <Link
        to={to as '/devices'}
        search={filter === undefined ? {} : { f: [filter] }}
        className="page-link"
      >
        {label}
      </Link>
    </span>
  ));
}

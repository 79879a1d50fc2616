import { Link } from '@tanstack/react-router';
import { text } from '../text/en';
import { Page } from '../ui/page';

export function NotFound() {
  return (
    <Page title={text.error.notFound}>
      <p>
        <Link to="/">{text.error.toOverview}</Link>
      </p>
    </Page>
  );
}

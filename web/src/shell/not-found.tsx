import { Link } from '@tanstack/react-router';
import { text } from '../text/en';
import { Empty } from '../ui/notice';

export function NotFound() {
  return (
    <Empty title={text.error.notFound}>
      <Link to="/">{text.error.toOverview}</Link>
    </Empty>
  );
}

import { text } from '../text/en';
import { Notice } from '../ui/notice';
import { ApiError } from './errors';
import { PageLinks } from './page-links';

/** Why what was sent did not work, beside the button that sends it again. */
export function ActionError({ error }: { error: Error }) {
  const id = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Notice tone="bad" title={text.error.action}>
      <p>
        {error.message}
        <PageLinks text={error.message} />
      </p>
      {id !== undefined && (
        <p className="soft">
          {text.error.request} <code>{id}</code>
        </p>
      )}
    </Notice>
  );
}

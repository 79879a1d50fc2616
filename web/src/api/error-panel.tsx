import { text } from '../text/en';
import { Button } from '../ui/button';
import { Notice } from '../ui/notice';
import { ApiError } from './errors';

/** What happened, the request's id, and a way on. */
export function ErrorPanel({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const id = error instanceof ApiError ? error.requestId : undefined;
  return (
    <Notice tone="bad" title={text.error.title}>
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {id !== undefined && (
        <p className="soft">
          {text.error.request} <code>{id}</code>
        </p>
      )}
      {onRetry !== undefined && <Button onPress={onRetry}>{text.error.retry}</Button>}
    </Notice>
  );
}
